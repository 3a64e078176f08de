package app

import "math/rand/v2"

// randomName is a name for somebody who does not care.
func randomName() string {
	pick := func(list []string) string { return list[rand.IntN(len(list))] }
	return pick(adjectives) + "-" + pick(nouns)
}

var (
	adjectives = []string{
		"amber", "bold", "brave", "brisk", "bright", "calm", "clear", "clever", "cosy", "crisp", "eager", "early",
		"fair", "fleet", "fresh", "gentle", "golden", "grand", "happy", "keen", "kind", "late", "light", "lively",
		"lucky", "mellow", "merry", "neat", "nimble", "noble", "proud", "quick", "quiet", "rapid", "ready", "silver",
		"sleek", "smart", "snug", "solid", "sunny", "swift", "tidy", "vivid", "warm", "wild", "wise", "witty",
	}
	nouns = []string{
		"alder", "aspen", "badger", "beech", "birch", "brook", "cedar", "cliff", "cloud", "comet", "coral", "crane",
		"creek", "dune", "eagle", "ember", "fern", "field", "finch", "fjord", "forest", "fox", "glade", "harbor",
		"hare", "hazel", "heron", "hill", "island", "lake", "larch", "lark", "maple", "meadow", "moss", "oak",
		"otter", "owl", "pine", "reef", "ridge", "river", "robin", "rowan", "spruce", "stone", "swan", "willow",
	}
)
