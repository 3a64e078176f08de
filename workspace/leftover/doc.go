// Package leftover finds what no record owns and what is not where it was.
//
// Leftovers lists the first, Prune removes one of them on proof alone; where git
// cannot answer, nothing goes. Identify, Importable and Unrecorded make a record
// again of what is there. Where says what was moved, Repair has git and the record
// follow.
package leftover
