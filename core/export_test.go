package core

// AtAsk calls f at every point of the work on a question where a crash may come.
func (c *Core) AtAsk(f func(point string)) { c.asks.at = f }

// AtWrite calls f at every point of a write to the journal where a crash may come.
func (c *Core) AtWrite(f func(point string)) { c.home.onWrite = f }
