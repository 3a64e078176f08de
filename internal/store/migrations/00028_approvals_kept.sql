-- The newest decisions of rules, and those of people, are kept apart.

-- +goose Up
CREATE INDEX approvals_by_rule ON approvals (created_at) WHERE decision <> '' AND decided_by IN ('', 'rule');
CREATE INDEX approvals_by_people ON approvals (created_at) WHERE decision <> '' AND decided_by NOT IN ('', 'rule');
