// Computes digests of bundles without any code of middleman's: each line of standard
// input is one bundle, each line of standard output its digest. A test compares them
// with those of internal/bundle; docs/bundles.md describes the form.
import { createHash } from "node:crypto";
import { createInterface } from "node:readline";

const kinds = {
  secret: "secret-ref", vault: "secret-ref", keyring: "secret-ref",
  mount: "mount-grant", volume: "mount-grant",
  network: "network-policy", net: "network-policy",
  shell: "shell-policy", git: "git-policy",
  capability: "capability-grant", cap: "capability-grant",
};

function longForm(ref) {
  const colon = ref.indexOf(":");
  const kind = ref.slice(0, colon);
  return (Object.hasOwn(kinds, kind) ? kinds[kind] : kind) + ref.slice(colon);
}

function normal(bundle) {
  const { digest, stored, ...counts } = bundle;
  for (const d of counts.declarations ?? []) d.ref = longForm(d.ref);
  for (const p of Object.values(counts.profiles ?? {})) if (p.uses) p.uses = p.uses.map(longForm);
  return counts;
}

function isEmpty(value) {
  if (value === "" || value === false) return true;
  if (typeof value !== "object") return false;
  if (Array.isArray(value)) return value.length === 0;
  return Object.values(value).every(isEmpty);
}

function canonical(value) {
  if (typeof value === "string") return '"' + value.replace(/["\\]/g, "\\$&") + '"';
  if (typeof value !== "object") return String(value);
  if (Array.isArray(value)) return "[" + value.map(canonical).join(",") + "]";
  const names = Object.keys(value).filter((name) => !isEmpty(value[name]));
  names.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return "{" + names.map((name) => canonical(name) + ":" + canonical(value[name])).join(",") + "}";
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const text = canonical(normal(JSON.parse(line)));
  console.log(createHash("sha256").update(text, "utf8").digest("hex"));
}
