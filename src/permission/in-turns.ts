/** Long work in memory, in several turns of the event loop, so that other requests run in between. */
import { setImmediate } from 'node:timers/promises'

/** The most elements of one turn. */
const ofOneTurn = 256

/** Handles the elements of a long array. */
export async function eachInTurns<T>(all: readonly T[], handle: (each: T) => void): Promise<void> {
  for (const [at, each] of all.entries()) {
    handle(each)
    if ((at + 1) % ofOneTurn === 0) await setImmediate()
  }
}

/** Maps a long array. */
export async function mapInTurns<T, R>(all: readonly T[], map: (each: T) => R): Promise<readonly R[]> {
  const mapped: R[] = []
  await eachInTurns(all, (each) => void mapped.push(map(each)))
  return mapped
}

/** The elements of a long array that fit. */
export async function filterInTurns<T>(all: readonly T[], fits: (each: T) => boolean): Promise<readonly T[]> {
  const fitting: T[] = []
  await eachInTurns(all, (each) => {
    if (fits(each)) fitting.push(each)
  })
  return fitting
}
