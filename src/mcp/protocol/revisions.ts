/** The revisions of the Model Context Protocol that are spoken here, and what sets them apart. */
import { supportedVersionTexts } from '../../authorization-server/protocol-versions.ts'

export const legacyRevisions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const
export type LegacyRevision = (typeof legacyRevisions)[number]

export const modernRevision = '2026-07-28'
export type Revision = LegacyRevision | typeof modernRevision

/** What `initialize` answers when it does not know the version that was asked for. */
export const latestLegacy: LegacyRevision = '2025-11-25'
/** What is meant when nothing is said (2025-06-18, "Protocol Version Header"). */
export const assumedLegacy: LegacyRevision = '2025-03-26'

/** Newest first: what `server/discover` and the refusal of an unknown version name. */
export const supportedRevisions: readonly Revision[] = supportedVersionTexts

export function asLegacy(text: unknown): LegacyRevision | null {
  return legacyRevisions.find((revision) => revision === text) ?? null
}

/** True from `from` on; revisions are dates, so their texts compare. */
export function since(revision: Revision, from: Revision): boolean {
  return revision >= from
}
