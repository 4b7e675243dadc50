package guard

// KillByEnv finds nothing on darwin, where a process's environment is not readable: what outlives a guard that was itself
// killed stays until a person ends it.
func KillByEnv(string) int { return 0 }
