"""Carries a plan out: create, one commit, tag, and a look at what is there then."""

from halluscope.errors import HubError
from halluscope.hub.plan import Plan, plan
from halluscope.hub.remote import Hub


def publish(hub: Hub, decided: Plan) -> str:
    """Do what was planned.

    Killed or failed at any point, it is repeated by planning again: a repository without files gets them, files
    without a tag get it.

    Returns:
        One line for people.

    Raises:
        HubError: saying what went wrong, and what is there now.
        KeyboardInterrupt: when it is interrupted, saying the same.
    """
    wanted = decided.wanted
    if decided.idle:
        return f"{wanted}: there already, nothing changed"
    done = "Nothing is published."
    try:
        held = decided.held
        if held is None:
            hub.create(wanted, private=not decided.public)
            done = "The repository is there, without files."
            held = hub.look(wanted)
            if held is None:
                raise HubError("The Hub does not show it yet. Repeat the same command.")
        head = held.head
        if decided.changed or decided.deleted:
            head = hub.commit(wanted, head, decided.changed, decided.deleted)
            done = "The files are there, the tag is not."
        if decided.tag:
            hub.tag(wanted, head)
        done = "Files and tag are there, but could not be compared."
        if not plan(wanted, hub.look(wanted), public=True).idle:
            raise HubError("What the Hub holds now is not what was sent. Repeat the same command.")
    except HubError as error:
        raise HubError(f"{wanted}: {done} {error}") from None
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"{wanted}: {done} The step that was under way may be done too. The same command goes on."
        ) from None
    return f"{wanted}: published{f', tag {wanted.tag}' if decided.tag else '; its tag stays where it is'}"
