"""The building blocks of pages: icons, members, states and times."""

from datetime import datetime

from django import template
from django.templatetags.static import static
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from paca.projects.models import Member
from paca.web import avatars, labels, static_url

register = template.Library()


@register.simple_tag
def icon(name: str, classes: str = "") -> SafeString:
    """A symbol of the sprite; what it means is said in words beside it."""
    return format_html(
        '<svg class="icon {}" aria-hidden="true"><use href="{}#{}"></use></svg>',
        classes,
        static("paca/icons/icons.svg"),
        name,
    )


@register.simple_tag
def module(entry: str) -> SafeString:
    """A script of the page, and the modules it needs, fetched all at once."""
    needed = static_url.modules_of(entry)
    preloads = format_html_join(
        "", '<link rel="modulepreload" href="{}">\n', ((static(each),) for each in needed)
    )
    return format_html('{}<script type="module" src="{}"></script>\n', preloads, static(entry))


@register.simple_tag
def avatar(member: Member, size: str = "") -> SafeString:
    """A member's picture: agents are square and woven, people are round."""
    if member.agent_id is not None:
        return agent_avatar(str(member.agent_id), member.name, size)
    return person_avatar(str(member.id), member.name, size)


@register.simple_tag
def person_avatar(member_id: str, name: str, size: str = "") -> SafeString:
    """The same for a person of whom only id and name are at hand."""
    return format_html(
        '<span class="avatar tone-{} {}" role="img" aria-label="{}">{}</span>',
        avatars.tone_of(member_id),
        size,
        name,
        avatars.initials(name),
    )


@register.simple_tag
def agent_avatar(agent_id: str, name: str, size: str = "") -> SafeString:
    """The same for an agent of which only id and name are at hand."""
    cells = ((x * 5 + 0.25, y * 5 + 0.25) for x, y in avatars.weave(str(agent_id)))
    woven = format_html_join(
        "", '<rect x="{}" y="{}" width="4.5" height="4.5" rx="1.2"></rect>', cells
    )
    return format_html(
        '<span class="avatar is-agent tone-{} {}" role="img" aria-label="{}, agent">'
        '<svg viewBox="0 0 25 25" aria-hidden="true">{}</svg></span>',
        avatars.tone_of(str(agent_id)),
        size,
        name,
        woven,
    )


@register.simple_tag
def state(shown: labels.State, classes: str = "pill") -> SafeString:
    """A state: icon, word and reason; never colour alone."""
    because = f" · {shown.because}" if shown.because else ""
    return format_html(
        '<span class="state s-{} {}">{}<span>{}{}</span></span>',
        shown.tone,
        classes,
        icon(shown.icon),
        shown.label,
        because,
    )


@register.filter
def state_of(conversation: object) -> labels.State:
    """The state of a conversation's row."""
    return labels.state_of(conversation.status, conversation.reason)  # type: ignore[attr-defined]


@register.filter
def activity(conversation: object) -> str:
    """What a conversation under way does right now."""
    return labels.ACTIVITIES.get(conversation.activity, "")  # type: ignore[attr-defined]


@register.simple_tag
def when(moment: datetime) -> SafeString:
    """A time, which the browser rewrites in the reader's own zone."""
    return format_html(
        '<paca-when at="{}"><time datetime="{}">{} UTC</time></paca-when>',
        moment.isoformat(),
        moment.isoformat(),
        moment.strftime("%Y-%m-%d %H:%M"),
    )
