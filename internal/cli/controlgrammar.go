package cli

// operate are the commands of whoever operates a running zeno. They are a part of the grammar.
type operate struct {
	PS          psCmd          `cmd:"" name:"ps" help:"What runs: processes, spawns, webhooks."`
	Logs        logsCmd        `cmd:"" help:"The events of one spawn."`
	Stop        stopCmd        `cmd:"" help:"Drain the zeno that serves the home, and end it."`
	Cancel      cancelCmd      `cmd:"" help:"End a spawn that runs."`
	Pause       pauseCmd       `cmd:"" help:"Hold the schedules of processes."`
	Resume      resumeCmd      `cmd:"" help:"End a pause."`
	RunNow      runNowCmd      `cmd:"" name:"run-now" help:"Run processes once, now."`
	Freeze      freezeCmd      `cmd:"" help:"Stop new evals, spawns and runs, and keep all state, also over a restart."`
	Thaw        thawCmd        `cmd:"" help:"End a freeze."`
	Inbox       inboxCmd       `cmd:"" help:"What waits for a person's answer."`
	Answer      answerCmd      `cmd:"" help:"Answer a question of an agent or the program."`
	GC          gcCmd          `cmd:"" name:"gc" help:"Remove what ended long ago: sessions, transcripts, deliveries, questions."`
	Backup      backupCmd      `cmd:"" help:"Copy the home, also while a zeno serves it."`
	Completions completionsCmd `cmd:"" help:"Print the completions of a shell: bash, zsh or fish."`
	Complete    completeCmd    `cmd:"" hidden:"" name:"complete-words" help:"What the completions of a shell call."`
}

// operateNames are the words that begin them.
func operateNames() []string {
	return []string{"ps", "logs", "stop", "cancel", "pause", "resume", "run-now", "freeze", "thaw", "inbox", "answer", "gc", "backup", "completions", "complete-words"}
}

// Help implements kong.HelpProvider.
func (psCmd) Help() string {
	return `Asks the zeno that serves the home; without one it reads the state directory, and .state is stopped.

Examples:

  zeno ps -w

  zeno ps --all

  zeno ps --json | jq '.processes[] | select(.failing > 0)'`
}

// Help implements kong.HelpProvider.
func (logsCmd) Help() string {
	return `Exits 2 where nothing is recorded of the spawn.

Examples:

  zeno logs -f s4kx2v7qzjm3wtn5a

  zeno logs ID --json | jq -r 'select(.kind == "eval") | .data.code'`
}

// Help implements kong.HelpProvider.
func (stopCmd) Help() string {
	return `No spawn or process run begins any more; those under way may go on until the deadline and are cancelled then. It waits for the end. Where no zeno runs it exits 0.

Examples:

  zeno stop --timeout 5m

  zeno stop --now`
}

// Help implements kong.HelpProvider.
func (cancelCmd) Help() string {
	return `Its CLI and its evals are ended, its status is cancelled, and who did it is journaled. Exits 2 where no such spawn runs, 5 where no zeno runs.

Example:

  zeno cancel s4kx2v7qzjm3wtn5a --why 'the wrong branch'`
}

// Help implements kong.HelpProvider.
func (pauseCmd) Help() string {
	return `What runs goes on. A pause ends with resume, or with that zeno. Exits 5 where none runs.

Example:

  zeno pause sweep`
}

// Help implements kong.HelpProvider.
func (resumeCmd) Help() string {
	return `Exits 5 where no zeno runs.

Example:

  zeno resume sweep`
}

// Help implements kong.HelpProvider.
func (runNowCmd) Help() string {
	return `Prints for each process started, or running where a run is under way. Exits 5 where no zeno runs.

Example:

  zeno run-now sweep && zeno ps -w`
}

// Help implements kong.HelpProvider.
func (freezeCmd) Help() string {
	return `Agents' evals are answered with an error of the kind frozen, spawns are refused, processes are not run, webhooks are taken in and wait. What runs goes on. It holds until thaw, also where no zeno runs now.

Example:

  zeno freeze --why 'the database is being moved'`
}

// Help implements kong.HelpProvider.
func (thawCmd) Help() string {
	return `Example:

  zeno thaw`
}

// Help implements kong.HelpProvider.
func (gcCmd) Help() string {
	return `Removes session files of spawns, deliveries of webhooks that failed, questions to a person that are over (but for those with a :key and an answer), and images of boxes' specs that no box used, which are older than --keep, with layers that no image has. The journal follows its own rule, (zeno.journal/retention! …), which a running zeno applies at once.

Examples:

  zeno gc --dry-run

  zeno gc --keep 90d --json`
}

// Help implements kong.HelpProvider.
func (backupCmd) Help() string {
	return `Copies the program and the state to DIR, which must be new or empty, or to FILE.tar.gz. The journal and the other databases are copied as they are at one moment each, and the journal's copy is verified. Left out: caches, sockets, locks and the admin token. A copy is a home: zeno --home DIR serves it.

Examples:

  zeno backup /backup/$(date +%F)

  zeno backup home.tar.gz && tar -xzf home.tar.gz -C restored`
}

// Help implements kong.HelpProvider.
func (completionsCmd) Help() string {
	return `Examples:

  zeno completions bash > ~/.local/share/bash-completion/completions/zeno

  zeno completions zsh > "${fpath[1]}/_zeno"

  zeno completions fish > ~/.config/fish/completions/zeno.fish`
}

// Help implements kong.HelpProvider.
func (inboxCmd) Help() string {
	return `Lists questions, and approved calls or answers of which nobody knows whether they took effect. Works whether or not a zeno serves the home.

Examples:

  zeno inbox

  zeno inbox Q-17

  zeno inbox --json | jq -r .question`
}

// Help implements kong.HelpProvider.
func (answerCmd) Help() string {
	return `Whoever waits goes on once a zeno serves the home. Exits 2, and changes nothing, where the answer is none of the choices, comes too late, or is the second one.

Examples:

  zeno answer Q-17 use the blue one

  zeno answer Q-18 no: too much

  zeno answer --resume Q-19 "the payment went through"`
}
