/**
 * Deletes what an actor has in its history beyond its limits. The entries are compared in memory: window functions of SQLite
 * would compare all of them without a pause.
 */
import { lockActor } from '../actor/actor-store.ts'
import type { Transaction } from '../store/store.ts'
import { emptied } from './history-store.ts'

/** Entries of one statement. */
const ofOnePart = 500

/** An entry and the part of the limits that it uses. */
interface Taken {
  readonly seq: number
  readonly name: string
  readonly callerKind: string
  readonly caller: string
  /** Characters of its content. */
  readonly size: number
  readonly isEmptied: number
}

interface Ranked extends Pick<Taken, 'seq' | 'size'> {
  /** 0: of the owner. */
  readonly other: number
  /** Characters of the entry and of the newer ones of its caller. */
  readonly used: number
}

/**
 * Deletes entries of an actor beyond a number of entries or of characters: first those of the callers that have most, so that
 * no caller displaces what others did, and those of the owner last. An entry after others of its property that stay only loses
 * its content, because an undo of the others must notice it.
 */
export async function trimActor(tx: Transaction, actorId: string, most: number, maxCharacters: number): Promise<void> {
  // A change between two statements would make the choice wrong.
  await lockActor(tx, actorId)
  const entries = await readEntries(tx, actorId)
  const empty = new Set(entries.flatMap(({ seq, isEmptied }) => (isEmptied === 1 ? seq : [])))
  const newlyEmpty = exceeding(
    entries.filter(({ seq }) => !empty.has(seq)),
    most,
    maxCharacters,
  )
  for (const seq of newlyEmpty) empty.add(seq)
  const deleted = unneeded(entries, empty)
  const rest = entries.filter(({ seq }) => !deleted.has(seq))
  for (const { seq } of rest.slice(most * 2)) deleted.add(seq)
  await inParts(
    newlyEmpty.filter((seq) => !deleted.has(seq)),
    (rows) =>
      tx.run(
        `/* history */ UPDATE history SET content = NULL, existed = 1, checksum = ${emptied}
         WHERE actor_id = $1 AND seq IN (SELECT seq FROM rows($2, seq BIGINT) AS chosen)`,
        actorId,
        rows,
      ),
  )
  await inParts([...deleted], (rows) =>
    tx.run(
      `/* history */ DELETE FROM history
       WHERE actor_id = $1 AND seq IN (SELECT seq FROM rows($2, seq BIGINT) AS chosen)`,
      actorId,
      rows,
    ),
  )
}

/** All entries, newest first. */
async function readEntries(tx: Transaction, actorId: string): Promise<readonly Taken[]> {
  const entries: Taken[] = []
  for (let before = Number.MAX_SAFE_INTEGER; ; ) {
    const page = await tx.all<Taken>(
      `/* history */ SELECT seq, name, caller_kind AS "callerKind", caller,
         CASE WHEN content IS NULL THEN 0 ELSE characters END AS size,
         CASE WHEN checksum = ${emptied} THEN 1 ELSE 0 END AS "isEmptied"
       FROM history WHERE actor_id = $1 AND seq < $2 ORDER BY seq DESC LIMIT ${ofOnePart}`,
      actorId,
      before,
    )
    entries.push(...page)
    const last = page.at(-1)
    if (last === undefined || page.length < ofOnePart) return entries
    before = last.seq
  }
}

/** The entries beyond the limits. @param entries newest first. */
function exceeding(entries: readonly Taken[], most: number, maxCharacters: number): number[] {
  // An entry without content takes something too.
  const least = Math.ceil(maxCharacters / most)
  const usedBy = new Map<string, number>()
  const countOf = new Map<string, number>()
  const [ranked, others]: [Ranked[], number[]] = [[], []]
  for (const { seq, callerKind, caller, size } of entries) {
    const key = `${callerKind} ${caller}`
    const count = countOf.get(key) ?? 0
    countOf.set(key, count + 1)
    const used = (usedBy.get(key) ?? 0) + size + least
    usedBy.set(key, used)
    // The newer entries of the caller alone are as many as may stay.
    if (count >= most) others.push(seq)
    else ranked.push({ seq, size, other: callerKind === 'creator' ? 0 : 1, used })
  }
  ranked.sort((a, b) => a.other - b.other || a.used - b.used || b.seq - a.seq)
  let total = 0
  const beyond = ranked.flatMap(({ seq, size }, place) => {
    total += size
    return place >= most || total > maxCharacters ? seq : []
  })
  return [...beyond, ...others]
}

/**
 * The entries without content that no undo needs: no earlier entry of the property has its content, or the caller has a later
 * such entry of the property. The newest entry stays, because the next one gets the number after it.
 *
 * @param entries newest first.
 */
function unneeded(entries: readonly Taken[], empty: ReadonlySet<number>): Set<number> {
  const firstKept = new Map<string, number>()
  for (const { seq, name } of entries) if (!empty.has(seq)) firstKept.set(name, seq)
  const later = new Set<string>()
  const found = new Set<number>()
  for (const [place, { seq, name, callerKind, caller }] of entries.entries()) {
    if (!empty.has(seq)) continue
    const key = JSON.stringify([callerKind, caller, name])
    if (place > 0 && (later.has(key) || (firstKept.get(name) ?? Number.MAX_SAFE_INTEGER) > seq)) found.add(seq)
    later.add(key)
  }
  return found
}

async function inParts(numbers: readonly number[], run: (rows: string) => Promise<number>): Promise<void> {
  for (let from = 0; from < numbers.length; from += ofOnePart)
    await run(JSON.stringify(numbers.slice(from, from + ofOnePart).map((seq) => [seq])))
}
