"""Carries out a plan: creates the repository, makes one commit, sets the tag, and checks the outcome."""

from halluscope.errors import HubError
from halluscope.hub.plan import Plan, plan
from halluscope.hub.remote import Hub


def publish(hub: Hub, decided: Plan) -> str:
    """Carry out a plan.

    If it is killed or fails at any point, plan and publish again: missing files are then sent, a missing tag is set.

    Returns:
        One line that says what was done.

    Raises:
        HubError: saying what went wrong, and what is on the Hub now.
        KeyboardInterrupt: saying what is on the Hub now.
    """
    wanted = decided.wanted
    if decided.idle:
        return f"{wanted}: there already; nothing was changed"
    done = "Nothing is published."
    try:
        held = decided.held
        if held is None:
            hub.create(wanted, private=not decided.public)
            done = "The repository is there, but without files."
            held = hub.look(wanted)
            if held is None:
                raise HubError("The Hub does not show it yet. Repeat the same command.")
        head = held.head
        if decided.changed or decided.deleted:
            head = hub.commit(wanted, head, decided.changed, decided.deleted)
            done = "The files are there, but not the tag."
        if decided.tag:
            hub.tag(wanted, head)
        done = "Files and tag are there, but could not be compared."
        if not plan(wanted, hub.look(wanted), public=True).idle:
            raise HubError("What the Hub holds now is not what was sent. Repeat the same command.")
    except HubError as error:
        raise HubError(f"{wanted}: {done} {error}") from None
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"{wanted}: {done} The step that was under way may be done too. Run the same command to go on."
        ) from None
    return f"{wanted}: published{f', tag {wanted.tag}' if decided.tag else '; its tag stays where it is'}"
