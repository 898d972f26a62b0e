/** Supported revisions of the Model Context Protocol. */
import { supportedVersionTexts } from '../../authorization-server/protocol-versions.ts'

export const legacyRevisions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const
export type LegacyRevision = (typeof legacyRevisions)[number]

export const modernRevision = '2026-07-28'
export type Revision = LegacyRevision | typeof modernRevision

/** The revision that `initialize` proposes when it does not support the requested one. */
export const latestLegacy: LegacyRevision = '2025-11-25'
/** The revision of a request without a header (2025-06-18, "Protocol Version Header"). */
export const assumedLegacy: LegacyRevision = '2025-03-26'

/** All supported revisions, newest first, for `server/discover` and the error for an unknown version. */
export const supportedRevisions: readonly Revision[] = supportedVersionTexts

export function asLegacy(text: unknown): LegacyRevision | null {
  return legacyRevisions.find((revision) => revision === text) ?? null
}

/** True for `from` and later revisions. Revisions are dates, so they compare as strings. */
export function since(revision: Revision, from: Revision): boolean {
  return revision >= from
}
