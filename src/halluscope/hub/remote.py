"""The Hub as one organization's member sees it: what a repository holds, and how it is changed.

Of the modules that publish, only this one talks to the Hub. Every failure becomes a `HubError` that says what was being
done. The token is read from where `huggingface_hub` keeps it (HF_TOKEN, or `hf auth login`), and appears in no message.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from halluscope.errors import HubError
from halluscope.files.opening import read_bytes
from halluscope.foreign import brief, one_line
from halluscope.hub.publication import Content, Publication, Stored

OWN = ".gitattributes"
"""The file that the Hub itself adds to a repository."""


@dataclass(frozen=True)
class Held:
    """What the Hub holds of a publication.

    Attributes:
        head: the commit of main.
        private: whether only members see the repository.
        main: the files of main, without the Hub's own.
        version: the version on main; None if its files are not ours.
        tagged: the files under the publication's tag; None if it has no such tag.
    """

    head: str
    private: bool
    main: Mapping[str, Stored]
    version: str | None
    tagged: Mapping[str, Stored] | None


class Hub:
    """The Hub, with the user's token."""

    @staticmethod
    def has_token() -> bool:
        """Whether the user has a token, valid or not."""
        from huggingface_hub import get_token

        return bool(get_token())

    def __init__(self, organization: str) -> None:
        """Log in, and check that the user may publish under the organization.

        Raises:
            HubError: if there is no token, it is refused, it cannot write, or the organization is not the user's.
        """
        from huggingface_hub import HfApi, get_token

        self._token = get_token() or ""
        if not self._token:
            raise HubError(
                "There is no token for the Hub. Log in with `hf auth login`, or set HF_TOKEN to a token that may write "
                "(https://huggingface.co/settings/tokens)."
            )
        if not (self._token.isascii() and self._token.isprintable()):
            raise HubError(
                "The token has characters that no token can have. Copy it again, into HF_TOKEN or with `hf auth login`."
            )
        self._api = HfApi(token=self._token)
        with self._asking("asking who you are"):
            me: Any = self._api.whoami()
        user, *organizations = _names(me)
        if organization not in (user, *organizations):
            raise HubError(
                f"The token belongs to {one_line(user)}, who cannot publish as {organization!r:.80}; expected one of "
                f"{', '.join(map(one_line, (user, *organizations)))}. Join the organization, or give the token "
                "write access to it."
            )
        if _inside(me, "auth", "accessToken", "role") == "read":
            raise HubError(
                f"The token of {one_line(user)} may only read. Make one that may write "
                "(https://huggingface.co/settings/tokens)."
            )

    def look(self, wanted: Publication) -> Held | None:
        """Return what the Hub holds of a publication; None if it has no such repository.

        Raises:
            HubError: if another kind of repository has the name, or the Hub does not answer.
        """
        from huggingface_hub.errors import RepositoryNotFoundError

        where: dict[str, Any] = {"repo_id": wanted.repository, "repo_type": wanted.kind}
        with self._asking(f"looking for {wanted.repository}"):
            if self._api.repo_exists(wanted.repository, repo_type="model"):
                raise HubError(
                    f"{wanted.repository} is a model on the Hub; a {wanted.kind} of the same name would look "
                    "as if it belonged to the model. Publish under another organization, or rename the model."
                )
            try:
                info: Any = self._api.repo_info(**where)
            except RepositoryNotFoundError:
                return None
            if not isinstance(info.sha, str):
                raise HubError(f"The Hub names no commit of {wanted.repository}: {brief(info.sha)}. {_AGAIN}")
            if wanted.kind == "space" and info.sdk not in (None, "gradio"):
                raise HubError(
                    f"{wanted.repository} is a Space of another kind ({one_line(info.sdk, 40)}), not a metric; "
                    "expected a gradio Space or a new name."
                )
            main = self._files(wanted, info.sha)
            tagged = any(tag.name == wanted.tag for tag in self._api.list_repo_refs(**where).tags)
            return Held(
                head=info.sha,
                private=bool(info.private),
                main=main,
                tagged=self._files(wanted, wanted.tag) if tagged else None,
                version=self._version(wanted, info.sha) if wanted.facts in main else None,
            )

    def create(self, wanted: Publication, private: bool) -> None:
        """Make an empty repository."""
        with self._asking(f"creating {wanted.kind} {wanted.repository}"):
            self._api.create_repo(
                wanted.repository,
                repo_type=wanted.kind,
                private=private,
                space_sdk="gradio" if wanted.kind == "space" else None,
            )

    def commit(
        self, wanted: Publication, head: str, files: Mapping[str, Content], deleted: Sequence[str]
    ) -> str:
        """Change files of main in one commit, all of them or none.

        Large files are stored first; those that were stored before a failure are not sent again.

        Returns:
            The commit.

        Raises:
            HubError: if the Hub refuses, or main is no longer at `head`.
        """
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete

        operations: list[Any] = [
            *(CommitOperationAdd(path, content) for path, content in files.items()),
            *(CommitOperationDelete(path, is_folder=False) for path in deleted),
        ]
        with self._asking(f"uploading to {wanted.kind} {wanted.repository}"):
            done = self._api.create_commit(
                wanted.repository,
                operations,
                commit_message=f"{wanted.repository.partition('/')[2]} {wanted.version}",
                repo_type=wanted.kind,
                parent_commit=head,
            )
            return str(done.oid)

    def tag(self, wanted: Publication, head: str) -> None:
        """Give a commit the publication's tag."""
        with self._asking(f"tagging {wanted.kind} {wanted.repository} as {wanted.tag}"):
            self._api.create_tag(wanted.repository, tag=wanted.tag, revision=head, repo_type=wanted.kind)

    def _files(self, wanted: Publication, revision: str) -> dict[str, Stored]:
        from huggingface_hub.hf_api import RepoFile

        tree = self._api.list_repo_tree(
            wanted.repository, recursive=True, revision=revision, repo_type=wanted.kind
        )
        return {
            entry.path: Stored(entry.size, entry.blob_id, entry.lfs.sha256 if entry.lfs else None)
            for entry in tree
            if isinstance(entry, RepoFile) and entry.path != OWN
        }

    def _version(self, wanted: Publication, revision: str) -> str | None:
        with TemporaryDirectory() as folder:
            file = self._api.hf_hub_download(
                wanted.repository, wanted.facts, repo_type=wanted.kind, revision=revision, local_dir=folder
            )
            return wanted.version_in(read_bytes(Path(file), "reply").decode("utf-8", "replace"))

    @contextmanager
    def _asking(self, doing: str) -> Iterator[None]:
        """Turn the library's errors (its own, httpx's, urllib3's, the system's) into one `HubError`."""
        try:
            yield
        except HubError:
            raise
        except Exception as error:
            answers = (getattr(one, "response", None) for one in (error, error.__cause__))
            status = next((answer.status_code for answer in answers if answer is not None), None)
            said = one_line(" ".join(str(error).split()).replace(self._token, "[the token]"))
            raise HubError(
                f"The Hub: {doing} failed. {_ADVICE.get(status or 0, _AGAIN)} It said: {said:.500}"
            ) from None


def _names(me: Any) -> list[str]:
    """Return the names that a user may publish under, the user's own first.

    Raises:
        HubError: if the Hub's answer does not hold them.
    """
    groups = _inside(me, "orgs") or []
    found = [_inside(one, "name") for one in (me, *(groups if isinstance(groups, list) else [groups]))]
    if not all(isinstance(name, str) and name for name in found):
        raise HubError(
            f"The Hub does not say who you are: {brief(me, 200)}; expected an object with name and orgs. Does "
            "HF_ENDPOINT name the Hub?"
        )
    return found


def _inside(value: Any, *keys: str) -> Any:
    """Return the value at `keys` in nested objects; None if one of the keys is missing."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


_AGAIN = "Repeat the same command when this is fixed; what is there already is not sent again."

_ADVICE = {
    401: "The token is refused: it is unknown or has expired. Log in again with `hf auth login`, or correct HF_TOKEN.",
    402: "The Hub asks for payment: a gradio Space needs a paid plan (https://huggingface.co/pricing).",
    403: "The token does not allow this. Give it write access to this organization (https://huggingface.co/settings/tokens).",
    409: "Someone else changed the repository meanwhile. Look at it, and repeat the same command.",
    412: "Someone else changed the repository meanwhile. Look at it, and repeat the same command.",
}
