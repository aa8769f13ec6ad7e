"""Recognizes an answer that promises work instead of doing it: in an unattended turn nobody says "go on"."""

import re

GUARD = "promised_work"
CHAT_MESSAGE = (
    "chat_message"  # the trigger of a message that a person has written in the conversation
)
NOTE = (
    "You wrote what you are about to do, and called no tool. Nobody watches this run, and it ends with"
    " your answer. Do it now with your tools. If it is done, or cannot be done, write the whole result"
    " again: only your last answer is delivered."
)

_OPENING = r"(?:(?:ok(?:ay)?|sure|great|good|alright|now|first|next|then|so|and)\b[,.!:]?\s+)*"
_PROMISE = re.compile(
    rf"(?i)^{_OPENING}(?:let me|i'll|i will|i shall|i'm going to|i am going to"
    r"|i'm about to|i am about to)\s+(?!know\b|be\b|not\b|never\b|wait\b|leave\b|keep (?:you|this|that|it|an eye)\b)\w"
)
# A promise that depends on somebody is an answer: the next step is not the agent's.
_CONDITION = re.compile(r"(?i)\b(?:if|once|when|after|unless|until|whenever)\b|\?")
_SENTENCE = re.compile(r"(?<=[.!?:])\s+|\n+")
_MARKS = "*_`#>-• \t"


def promises_work(text: str) -> bool:
    """Whether the last sentence of the text announces the agent's own next step. English only."""
    sentences = [each.strip(_MARKS) for each in _SENTENCE.split(text.replace("’", "'"))]
    last = next((each for each in reversed(sentences) if each), "")
    return bool(_PROMISE.search(last)) and not _CONDITION.search(last)
