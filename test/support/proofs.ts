/** Checks that each row of the catalogue names tests that prove it. */
import type { Proof } from './catalogue.ts'
import { idsOf, testsOf, type TitledFile } from './test-titles.ts'

/** A row that more tests carry promises too much to show which part of it lacks a test. */
const maxTests = 25

/** Returns what is wrong with the proofs of rows. @param reasoned the rows whose page gives a reason for no proof. */
export function faultsOfProofs(
  rows: ReadonlyMap<string, readonly Proof[]>,
  files: ReadonlyMap<string, TitledFile>,
  reasoned: readonly string[],
): string[] {
  const ofRows = [...rows].flatMap(([row, proofs]) => {
    if (proofs.length === 0) return reasoned.includes(row) ? [] : [`${row} names no test that proves it`]
    if (reasoned.includes(row)) return [`${row} names a test, and its page gives a reason for none`]
    return proofs.flatMap((proof) => faultOfProof(row, proof, files))
  })
  const lost = reasoned.filter((row) => !rows.has(row)).map((row) => `${row} has a reason, and does not exist`)
  return [...ofRows, ...lost]
}

function faultOfProof(row: string, proof: Proof, files: ReadonlyMap<string, TitledFile>): string[] {
  const named = `${row} names “${proof.title}” in “${proof.file}”`
  const file = files.get(proof.file)
  if (file === undefined) return [`${named}, which is not a test file of npm test`]
  const found = testsOf(file, proof)
  if (found.length === 0) return [`${named}, which does not exist`]
  const carrying = found.filter(({ ids }) => ids.includes(row))
  if (carrying.length === 0) return [`${named}, which does not carry ${row}`]
  return carrying.length > 1 ? [`${named}, which is the title of several tests: write its group and › before it`] : []
}

/** Returns the rows that too many tests carry. @param allowed reasons by row. */
export function broadRows(files: ReadonlyMap<string, TitledFile>, allowed: ReadonlyMap<string, string>): string[] {
  const counts = new Map<string, number>()
  for (const { tests } of files.values())
    for (const test of tests) for (const row of new Set(idsOf(test))) counts.set(row, (counts.get(row) ?? 0) + 1)
  const broad = [...counts].filter(([row, count]) => count > maxTests && !allowed.has(row))
  const needless = [...allowed.keys()].filter((row) => (counts.get(row) ?? 0) <= maxTests)
  return [
    ...broad.map(([row, count]) => `${row} has ${count} tests: split it`),
    ...needless.map((row) => `${row} has at most ${maxTests} tests, and needs no reason`),
  ]
}

/** Returns the ids in titles that name no row. */
export function lostIds(files: ReadonlyMap<string, TitledFile>, known: ReadonlySet<string>): string[] {
  return [...files].flatMap(([file, { tests }]) =>
    tests.flatMap((test) => idsOf(test).filter((row) => !known.has(row))).map((row) => `${row} in a title of ${file}`),
  )
}
