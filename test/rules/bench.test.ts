/** The arithmetic and the documents of `npm run bench`. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Measured, pairedRatio } from '../../bench/compare.ts'
import { replaceSection } from '../../bench/page.ts'
import { linesOf, memoryLine } from '../../bench/pinned.ts'

function measured(rate: number, cpu: number, slices: readonly (readonly [rate: number, cpu: number])[]): Measured {
  const others = { p50: 1260, p99: 4049, rss: 0 }
  return { rate, cpu, ...others, samples: slices.map(([rate, cpu]) => ({ rate, cpu, ...others })) }
}

describe('the pinned requests', () => {
  // The last slice was disturbed, but only on one server.
  const own = measured(300, 10, [
    [300, 10],
    [200, 10],
    [900, 9],
  ])
  const bare = measured(400, 5, [
    [600, 5],
    [400, 4],
    [100, 8],
  ])
  const base = measured(100, 40, [
    [100, 40],
    [50, 20],
    [150, 90],
  ])

  it('are compared slice by slice, by the median of the ratios', () => {
    assert.equal(pairedRatio(own, bare, 'rate'), 0.5)
    assert.equal(pairedRatio(own, bare, 'cpu'), 2)
    assert.equal(pairedRatio(own, base, 'rate'), 4)
    assert.equal(pairedRatio(own, base, 'cpu'), 0.25)
  })

  const line = { store: 'SQLite', aim: '', met: null }
  const first = {
    ...line,
    what: 'GET',
    measured: '300/s, 10.0 µs CPU, p50 1.3 ms, p99 4.0 ms',
    bound: '400/s, 5.0 µs CPU bare',
    ratio: 0.5,
  }

  it('have one line beside the bare server', () => {
    assert.deepEqual(linesOf('SQLite', 'GET', [own, bare]), [first])
  })

  it('have two more lines beside another checkout', () => {
    assert.deepEqual(linesOf('SQLite', 'GET', [own, bare, base]), [
      first,
      { ...line, what: '… rate, times the base', measured: '', bound: '100/s, 40.0 µs CPU base', ratio: 4 },
      { ...line, what: '… processor time, times the base', measured: '', bound: '', ratio: 0.25 },
    ])
  })

  it('have lines with the memory of each server and its limit', () => {
    const memory = { store: 'SQLite', what: 'memory', ratio: null, aim: '≤ 90 MB' }
    assert.deepEqual(memoryLine('SQLite', 'memory', [90_000_000, 70_400_000], 90), {
      ...memory,
      measured: '90 MB',
      bound: '70 MB bare',
      met: true,
    })
    assert.deepEqual(memoryLine('SQLite', 'memory', [90_000_001, 70_600_000, 1_000_000], 90), {
      ...memory,
      measured: '90 MB',
      bound: '71 MB bare, 1 MB base',
      met: false,
    })
  })
})

describe('the page of benchmarks', () => {
  const page = '# Benchmarks\n\nold text\n\n## One list of 5,256,000 items\n\nold list\n'

  it('gets a new section at its end', () => {
    const written = replaceSection(page, 'pinned', '| table |\n')
    assert.ok(
      written.startsWith(`${page}\n## Requests on one processor\n\n\`npm run bench -- --only requests --pinned`),
    )
    assert.ok(written.endsWith('\n\n| table |\n'))
  })

  it('keeps the other sections when one is replaced', () => {
    const lists = replaceSection(page, 'large-list', 'new list')
    assert.ok(lists.startsWith('# Benchmarks\n\nold text\n\n## One list of 5,256,000 items\n\n`npm run bench --'))
    assert.ok(lists.endsWith('disk waits.\n\nnew list\n'))
    assert.doesNotMatch(lists, /old list/)
    const ratios = replaceSection(page, 'ratios', 'new text')
    assert.ok(ratios.endsWith('\n\nnew text\n\n## One list of 5,256,000 items\n\nold list\n'))
    assert.doesNotMatch(ratios, /old text/)
  })

  it('does not change when the same section is written twice', () => {
    const once = replaceSection(page, 'pinned', '| table |')
    assert.equal(replaceSection(once, 'pinned', '| table |'), once)
  })
})
