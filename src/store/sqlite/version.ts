/**
 * Returns why this version of SQLite must not be used, or null when it may be used.
 *
 * Releases 3.7.0 to 3.51.2 can damage a database in WAL mode when a checkpoint and a write overlap (the "WAL-reset"
 * bug); older releases have no WAL. 3.51.3 is the first fixed release.
 */
export function refuseSqliteVersion(version: string): string | null {
  const parts = /^(\d+)\.(\d+)\.(\d+)/.exec(version)
  if (parts === null)
    return `Cannot use the SQLite of this runtime: its version "${version}" is unknown; 3.51.3 or newer is required.`
  const [major, minor, patch] = [Number(parts[1]), Number(parts[2]), Number(parts[3])]
  const fixed = major > 3 || (major === 3 && (minor > 51 || (minor === 51 && patch >= 3)))
  if (fixed) return null
  return `Cannot use SQLite ${version} of this runtime: it can damage a database in WAL mode; 3.51.3 or newer is required (included in Node 24.16 or newer).`
}
