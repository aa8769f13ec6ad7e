"""The names that an environment variable of an agent may have, and why others are refused."""

import re

from paca.agents.models.env_var import MAX_NAME_CHARACTERS

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")

# Set by the sandbox itself: another value would break commands, or let them wait for a person's input.
OF_THE_SANDBOX = frozenset(
    [
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "PWD",
        "OLDPWD",
        "HOSTNAME",
        "LANG",
        "LC_ALL",
        "LC_CTYPE",
        "TERM",
        "TMPDIR",
        "PAGER",
        "EDITOR",
        "VISUAL",
        "SSH_ASKPASS",
        "SUDO_ASKPASS",
        "DEBIAN_FRONTEND",
        "PIP_NO_INPUT",
        "PIP_DISABLE_PIP_VERSION_CHECK",
        "PIP_CERT",
        "PIP_PROXY",
    ]
)
# They make each program load or run something, or trust another server.
THAT_RUN_CODE = frozenset(
    [
        "ENV",
        "IFS",
        "CDPATH",
        "GLOBIGNORE",
        "SHELLOPTS",
        "BASHOPTS",
        "PROMPT_COMMAND",
        "PS0",
        "PS1",
        "PS2",
        "PS3",
        "PS4",
        "HISTFILE",
        "ZDOTDIR",
        "PERL5LIB",
        "PERL5OPT",
        "PERLLIB",
        "PERL5DB",
        "RUBYOPT",
        "RUBYLIB",
        "NODE_OPTIONS",
        "NODE_PATH",
        "NODE_EXTRA_CA_CERTS",
        "NODE_TLS_REJECT_UNAUTHORIZED",
        "JAVA_TOOL_OPTIONS",
        "_JAVA_OPTIONS",
        "JDK_JAVA_OPTIONS",
        "CLASSPATH",
        "LUA_PATH",
        "LUA_CPATH",
        "PHPRC",
        "PHP_INI_SCAN_DIR",
        "GCONV_PATH",
        "LOCPATH",
        "NLSPATH",
        "LOCALDOMAIN",
        "HOSTALIASES",
        "RES_OPTIONS",
        "RESOLV_HOST_CONF",
        "OPENSSL_CONF",
        "OPENSSL_MODULES",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "REQUESTS_CA_BUNDLE",
        "CURL_CA_BUNDLE",
        "CURL_HOME",
        "SSLKEYLOGFILE",
        "WGETRC",
        "LESSOPEN",
        "LESSCLOSE",
        "BROWSER",
        "MANPAGER",
        "RUSTC_WRAPPER",
        "GOFLAGS",
        "MAKEFLAGS",
    ]
)
PREFIXES = ("LD_", "DYLD_", "PYTHON", "GIT_", "BASH_", "PACA_", "GLIBC_", "MALLOC_", "NPM_CONFIG_")
PROXY_SUFFIX = "_PROXY"


def find_error(name: str) -> str:
    """Why a variable cannot have this name, in words; empty if it can."""
    if not NAME.match(name) or len(name) > MAX_NAME_CHARACTERS:
        return f"A name has 1 to {MAX_NAME_CHARACTERS} letters, digits and _, and begins with no digit."
    upper = name.upper()
    # guard: variables-do-not-replace-those-of-the-sandbox
    if upper in OF_THE_SANDBOX:
        return f"The sandbox sets {name} itself. Take another name."
    # guard: variables-run-no-code
    if upper in THAT_RUN_CODE or upper.startswith(PREFIXES):
        return f"{name} would change what programs run or trust. Take another name."
    if upper.endswith(PROXY_SUFFIX) or upper == "PROXY":
        return (
            f"{name} would lead around the network gate. Open hosts in the settings of the project."
        )
    return ""
