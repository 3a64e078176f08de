//go:build race

package fault

import "os"

// raceEnv returns the race detector's options, such as where it reports.
func raceEnv() []string {
	if told := os.Getenv("GORACE"); told != "" {
		return []string{"GORACE=" + told}
	}
	return nil
}
