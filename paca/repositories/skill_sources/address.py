"""Which repository, branch and folder a person means: the address of a clone, or of a page that shows a folder."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit, urlunsplit

from django.conf import settings
from django.core.exceptions import ValidationError

from paca.agents.models.skill import MAX_PATH_CHARACTERS, MAX_REF_CHARACTERS
from paca.common.errors import Invalid
from paca.projects.models import Project
from paca.repositories import routing, selectors
from paca.repositories.broker.routes import Route
from paca.repositories.hosts.addresses import may_be_plain
from paca.repositories.models import Repository
from paca.repositories.models.addresses import check_clone_url

COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")
# What git refuses in a ref, and what a command would read in another way: an option, a refspec, a pattern.
BAD_REF = re.compile(r"^[-+.^/]|[\x00-\x20\x7f~^:?*\[\\]|\.\.|//|@\{|\.lock(?:/|\Z)|[./]\Z|\A@\Z")
# The pages of GitHub, GitLab and Gitea that show a folder or a file of a branch.
PAGE = re.compile(
    r"(?P<repository>/[^/]+(?:/[^/]+)+?)(?:/-)?/"
    r"(?:tree|blob|src/branch|src/tag|src/commit)/(?P<ref>[^/]+)(?:/(?P<folder>.*))?\Z"
)
DOCUMENT = "SKILL.md"


@dataclass(frozen=True, slots=True)
class SkillSource:
    """A repository, and in it a branch, tag or commit (empty: the default branch) and a folder (empty: all of it)."""

    url: str
    ref: str = ""
    folder: str = ""

    @property
    def host(self) -> str:
        """The server, as people know it."""
        return urlsplit(self.url).netloc


def parse(url: str, ref: str = "", folder: str = "") -> SkillSource:
    """Read what a person has typed. Raises ``Invalid`` with the errors of each field."""
    url, ref, folder = url.strip(), ref.strip(), folder.strip()
    url, page_ref, page_folder = _from_page(url)
    source = SkillSource(_checked_url(url), ref or page_ref, _folder(folder or page_folder))
    if source.ref and not _is_ref(source.ref):
        raise Invalid(fields={"ref": ["This is no name of a branch or tag, and no full commit."]})
    return source


def linked(project: Project, source: SkillSource) -> Repository | None:
    """The project's own repository at this address, whose credentials count then."""
    wanted = source.url.removesuffix(".git")
    rows = selectors.repositories_of(project)
    return next((each for each in rows if each.url.removesuffix(".git") == wanted), None)


def route_to(project: Project, source: SkillSource) -> Route:
    """The way to the repository, with the credentials of the project if it is linked there.

    It may ask the server for a token, so it is called outside transactions. Raises what ``header_for`` raises.
    """
    repository = linked(project, source)
    if repository is not None:
        return routing.route_of(repository)
    return Route(
        source.url,
        name=source.url,
        private=tuple(settings.PRIVATE_GIT_SERVERS),
        ca_file=settings.GIT_CA_FILE,
    )


def _from_page(url: str) -> tuple[str, str, str]:
    """The address of the repository, the branch and the folder, if this is the address of a page; else as it is."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url, "", ""
    found = PAGE.match(parts.path)
    if found is None:
        return url, "", ""
    folder = unquote(found["folder"] or "").removesuffix(DOCUMENT)
    address = urlunsplit((parts.scheme, parts.netloc, found["repository"], "", ""))
    return address, unquote(found["ref"]), folder


def _checked_url(url: str) -> str:
    try:
        check_clone_url(url)
        plain = urlsplit(url)._replace(netloc=urlsplit(url).netloc.lower())
    except (ValidationError, ValueError) as error:
        said = error.messages if isinstance(error, ValidationError) else ["This is no address."]
        raise Invalid(fields={"url": said}) from None
    address = urlunsplit(plain._replace(path=plain.path.rstrip("/")))
    # guard: skill-sources-over-tls
    if not may_be_plain(address):
        raise Invalid(fields={"url": ["Write https://. Skills are not read over http://."]})
    return address


def _is_ref(ref: str) -> bool:
    return len(ref) <= MAX_REF_CHARACTERS and ref.isprintable() and not BAD_REF.search(ref)


def _folder(folder: str) -> str:
    parts = [part for part in folder.split("/") if part not in ("", ".")]
    path = "/".join(parts)
    if ".." in parts or not path.isprintable() or len(path) > MAX_PATH_CHARACTERS:
        raise Invalid(fields={"folder": ["Write the path of a folder in the repository."]})
    return path
