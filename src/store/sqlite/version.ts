/**
 * Says why this SQLite must not be used, or null when it may.
 *
 * Releases 3.7.0 to 3.51.2 can damage a database in WAL mode when a checkpoint and a write meet (the "WAL-reset"
 * defect); older ones have no WAL. 3.51.3 is the first release without it.
 */
export function refuseSqliteVersion(version: string): string | null {
  const parts = /^(\d+)\.(\d+)\.(\d+)/.exec(version)
  if (parts === null) return `This runtime brings an SQLite of unknown version "${version}"; 3.51.3 or newer is needed.`
  const [major, minor, patch] = [Number(parts[1]), Number(parts[2]), Number(parts[3])]
  const fixed = major > 3 || (major === 3 && (minor > 51 || (minor === 51 && patch >= 3)))
  if (fixed) return null
  return `This runtime brings SQLite ${version}, which can damage a database in WAL mode; 3.51.3 or newer is needed (Node 24.16 or newer brings one).`
}
