/** Long work in memory, in several turns of the event loop, so that other requests run in between. */
import { setImmediate } from 'node:timers/promises'

/** The most elements of one turn. */
const ofOneTurn = 256

/** Maps a long array. */
export async function mapInTurns<T, R>(all: readonly T[], map: (each: T) => R): Promise<readonly R[]> {
  const mapped: R[] = []
  for (const each of all) {
    mapped.push(map(each))
    if (mapped.length % ofOneTurn === 0) await setImmediate()
  }
  return mapped
}
