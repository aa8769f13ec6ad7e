"""Template tags for icons, scripts, avatars, states and times."""

from datetime import datetime

from django import template
from django.templatetags.static import static
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from paca.projects.models import Member
from paca.web import avatars, labels, static_storage

register = template.Library()


@register.simple_tag
def icon(name: str, classes: str = "") -> SafeString:
    """An icon of the sprite. It is hidden from screen readers; a text stands beside it."""
    return format_html(
        '<svg class="icon {}" aria-hidden="true"><use href="{}#{}"></use></svg>',
        classes,
        static("paca/icons/icons.svg"),
        name,
    )


@register.simple_tag
def module(entry: str) -> SafeString:
    """A module script, with preloads of all modules it imports, so that they load in parallel."""
    needed = static_storage.modules_of(entry)
    preloads = format_html_join(
        "", '<link rel="modulepreload" href="{}">\n', ((static(each),) for each in needed)
    )
    return format_html('{}<script type="module" src="{}"></script>\n', preloads, static(entry))


@register.simple_tag
def avatar(member: Member, size: str = "") -> SafeString:
    """The avatar of a member: a square identicon for agents, a round one with initials for people."""
    if member.agent_id is not None:
        return agent_avatar(str(member.agent_id), member.name, size)
    return person_avatar(str(member.id), member.name, size)


@register.simple_tag
def person_avatar(member_id: str, name: str, size: str = "") -> SafeString:
    """The avatar of a person, from id and name."""
    return format_html(
        '<span class="avatar tone-{} {}" role="img" aria-label="{}">{}</span>',
        avatars.avatar_tone(member_id),
        size,
        name,
        avatars.initials(name),
    )


@register.simple_tag
def agent_avatar(agent_id: str, name: str, size: str = "") -> SafeString:
    """The avatar of an agent, from id and name."""
    cells = ((x * 5 + 0.25, y * 5 + 0.25) for x, y in avatars.identicon_cells(str(agent_id)))
    rects = format_html_join(
        "", '<rect x="{}" y="{}" width="4.5" height="4.5" rx="1.2"></rect>', cells
    )
    return format_html(
        '<span class="avatar is-agent tone-{} {}" role="img" aria-label="{}, agent">'
        '<svg viewBox="0 0 25 25" aria-hidden="true">{}</svg></span>',
        avatars.avatar_tone(str(agent_id)),
        size,
        name,
        rects,
    )


@register.simple_tag
def state(shown: labels.StateLabel, classes: str = "pill") -> SafeString:
    """A state as icon, label and reason, so that it does not depend on colour."""
    reason = f" · {shown.reason}" if shown.reason else ""
    return format_html(
        '<span class="state s-{} {}">{}<span>{}{}</span></span>',
        shown.tone,
        classes,
        icon(shown.icon),
        shown.label,
        reason,
    )


@register.filter
def state_of(conversation: object) -> labels.StateLabel:
    """The label of a conversation's status, with its reason or what it waits for."""
    reason = conversation.reason or conversation.waits_for  # type: ignore[attr-defined]
    return labels.state_of(conversation.status, reason)  # type: ignore[attr-defined]


@register.filter
def activity(conversation: object) -> str:
    """What a running conversation does now."""
    waits_for = conversation.waits_for  # type: ignore[attr-defined]
    return labels.WAITS_FOR.get(waits_for) or labels.ACTIVITIES.get(conversation.activity, "")  # type: ignore[attr-defined]


@register.simple_tag
def when(moment: datetime) -> SafeString:
    """A time in UTC, which the browser rewrites in the reader's time zone."""
    return format_html(
        '<paca-when at="{}"><time datetime="{}">{} UTC</time></paca-when>',
        moment.isoformat(),
        moment.isoformat(),
        moment.strftime("%Y-%m-%d %H:%M"),
    )
