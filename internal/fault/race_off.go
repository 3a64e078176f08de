//go:build !race

package fault

func raceEnv() []string { return nil }
