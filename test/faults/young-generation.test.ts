import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { describe, it } from 'node:test'

const edge = new URL('../../src/http/edge/young-generation.ts', import.meta.url).href

/** Prints the largest half of the young generation while objects survive its collections, in MiB. */
const program = (isLimited: boolean): string => `
  import { getHeapSpaceStatistics } from 'node:v8'
  import { setImmediate } from 'node:timers/promises'
  import { limitYoungGeneration } from ${JSON.stringify(edge)}
  if (${isLimited}) limitYoungGeneration()
  const kept = []
  let most = 0
  for (let made = 0; made < 300_000; made += 1) {
    kept[made % 10_000] = new Array(50).fill(made)
    if (made % 1000 > 0) continue
    await setImmediate()
    const young = getHeapSpaceStatistics().find((space) => space.space_name === 'new_space')
    most = Math.max(most, Math.round((young.space_used_size + young.space_available_size) / 1_048_576))
  }
  console.log(most)
`

function largestHalf(isLimited: boolean, options: readonly string[] = []): number {
  const args = [
    ...options,
    '--conditions=troupe-source',
    '--no-warnings',
    '--input-type=module',
    '-e',
    program(isLimited),
  ]
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  assert.equal(stderr, '')
  return Number(stdout)
}

/** V8 doubles a half when it grows. On a busy machine it counts some pages of the other half too. */
function assertHalf(found: number, expected: number): void {
  assert.ok(found >= expected && found < 1.5 * expected, `${found} MiB instead of ${expected}`)
}

describe('the young generation of V8', () => {
  it('grows to two halves of 8 MiB', () => {
    assertHalf(largestHalf(true), 8)
  })

  it('grows further without the limit', () => {
    assert.ok(largestHalf(false) >= 16)
  })

  it('has the size that the command line gives', () => {
    assertHalf(largestHalf(true, ['--max-semi-space-size=16']), 16)
  })
})
