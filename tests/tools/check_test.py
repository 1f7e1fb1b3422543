"""tools/check looks at all commits that may have come together."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

CHECK = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check"
GIT = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a",
       "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a"}
LONG = "Say in the subject of a commit what belongs into its body, at a length that none may have"


class Commits(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "tools").mkdir()
        shutil.copy(CHECK, self.root / "tools" / "check")
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments):
        subprocess.run(["git", *arguments], cwd=self.root, check=True, env={**os.environ, **GIT})

    def commit(self, *subjects):
        for subject in subjects:
            self.git("commit", "--quiet", "--allow-empty", f"--message={subject}")

    def mistakes(self, *base):
        result = subprocess.run([self.root / "tools" / "check", "--only", "commits", *base], cwd=self.root, text=True,
                                capture_output=True, check=False, env={**os.environ, **GIT})
        self.assertIn(result.returncode, (0, 1), result.stderr)
        *mistakes, _ = result.stdout.splitlines()
        self.assertEqual(result.returncode, 1 if mistakes else 0)
        return mistakes

    def test_on_main_the_last_twenty_are_looked_at(self):
        self.commit("Begin", LONG, "Go on", "Go further")
        self.assertEqual(len(self.mistakes()), 1)
        self.assertIn(LONG, self.mistakes()[0])
        self.commit(*(f"Go on with part {i}" for i in range(18)))
        self.assertEqual(self.mistakes(), [], "later ones do not pay for an old one")

    def test_on_a_branch_only_its_own_are_looked_at(self):
        self.commit("Begin", LONG)
        self.git("checkout", "--quiet", "-b", "topic")
        self.commit("Go on")
        self.assertEqual(self.mistakes(), [])
        self.commit(LONG, "Go further")
        self.assertEqual(len(self.mistakes()), 1)
        self.assertEqual(self.mistakes("HEAD~1"), [])


if __name__ == "__main__":
    unittest.main()
