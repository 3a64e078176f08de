//go:build race

package fault

import "os"

// raceEnv is what the race detector was told, such as where to report.
func raceEnv() []string {
	if told := os.Getenv("GORACE"); told != "" {
		return []string{"GORACE=" + told}
	}
	return nil
}
