/** The arithmetic and the documents of `npm run bench`. */
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { type Assumptions, bytesOfActor, type Costs, needsOf } from '../../bench/capacity-model.ts'
import { capacityTables, size } from '../../bench/capacity-report.ts'
import { type Measured, pairedRatio } from '../../bench/compare.ts'
import { replaceSection, sections } from '../../bench/page.ts'
import { linesOf, memoryLine } from '../../bench/pinned.ts'
import { type Running, startServer } from '../../bench/process.ts'

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
    const written = replaceSection(page, sections.pinned, '| table |\n')
    assert.ok(
      written.startsWith(`${page}\n## Requests on one processor\n\n\`npm run bench -- --only requests --pinned`),
    )
    assert.ok(written.endsWith('\n\n| table |\n'))
  })

  it('keeps the other sections when one is replaced', () => {
    const lists = replaceSection(page, sections['large-list'], 'new list')
    assert.ok(lists.startsWith('# Benchmarks\n\nold text\n\n## One list of 5,256,000 items\n\n`npm run bench --'))
    assert.ok(lists.endsWith('disk waits.\n\nnew list\n'))
    assert.doesNotMatch(lists, /old list/)
    const scale = replaceSection(lists, sections.scale, 'a million')
    assert.equal(replaceSection(scale, sections['large-list'], 'new list'), scale)
    assert.ok(
      scale.endsWith(
        '\n\nnew list\n\n## A million actors\n\n`npm run bench -- --only scale --write` writes this section.\n\na million\n',
      ),
    )
  })

  it('does not change when the same section is written twice', () => {
    const once = replaceSection(page, sections.pinned, '| table |')
    assert.equal(replaceSection(once, sections.pinned, '| table |'), once)
  })
})

describe('the capacity model', () => {
  const costs: Costs = {
    store: 'PostgreSQL',
    bytes: {
      actor: 1,
      property: 10,
      list: 100,
      item: 1000,
      trust: 10_000,
      subscription: 100_000,
      diff: 1_000_000,
      delivered: 10_000_000,
      session: 100_000_000,
      auditEntry: 1_000_000_000,
    },
    service: { read: 100, change: 500, callback: 50 },
    database: { read: 40, change: 200, callback: 30 },
    logPerChange: 3000,
    pages: 8,
    pageBytes: 8192,
    process: { idleBytes: 100e6, loadedBytes: 150e6, connections: 9 },
  }
  const profile = {
    properties: 2,
    lists: 3,
    items: 4,
    trusts: 5,
    subscriptions: 6,
    waitingDiffs: 7,
    deliveredDiffs: 8,
    sessions: 9,
    auditEntries: 1,
  }
  const assumed: Assumptions = {
    profile,
    activeShare: 0.1,
    requestsPerDay: 86.4,
    changeShare: 0.25,
    subscribers: 2,
    peak: 4,
    utilization: 0.5,
    connections: 12,
    diskFactor: 1.5,
    server: { processors: 16, memoryBytes: 128e9, diskBytes: 4e12 },
  }
  const small = { ...costs.bytes, item: 0, trust: 0, subscription: 0, diff: 0, delivered: 0, session: 0, auditEntry: 0 }

  it('adds the bytes of every row of an actor', () => {
    assert.equal(bytesOfActor(costs, profile), 1_987_654_321)
  })

  it('names the needs of a million actors', () => {
    // 100,000 actors of one day make 100 requests a second on average, and 400 at the peak: 300 reads and 100 changes.
    assert.deepEqual(needsOf({ ...costs, bytes: small }, 1_000_000, assumed), {
      actors: 1_000_000,
      bytesPerActor: 321,
      diskBytes: 481_500_000,
      // The data is smaller than 100,000 actors with 8 pages each.
      memoryBytes: 321_000_000,
      requests: 400,
      logBytes: 300_000,
      // (300 × 100 µs + 100 × (500 + 2 × 50) µs) ÷ 0.5
      serviceProcessors: 0.18,
      databaseProcessors: 0.076,
      processes: 2,
      processBytes: 300e6,
      connections: 24,
      servers: 1,
    })
  })

  it('counts whole pages of the actors of one day when their data is larger', () => {
    const { memoryBytes } = needsOf({ ...costs, bytes: { ...small, actor: 100_000 } }, 1_000_000, assumed)
    assert.equal(memoryBytes, 6_553_600_000)
  })

  it('adds processes and database servers with the load', () => {
    const { processes, connections, servers } = needsOf({ ...costs, bytes: small }, 1_000_000_000, assumed)
    assert.deepEqual([processes, connections, servers], [180, 2160, 5])
  })

  const servers: readonly (readonly [why: string, changed: Partial<Costs>, servers: number])[] = [
    ['the disk', { bytes: { ...small, actor: 5_000_000 } }, 2],
    ['the memory', { bytes: { ...small, actor: 2_000_000 }, pages: 400 }, 3],
    ['the processors', { bytes: small, database: { read: 0, change: 200_000, callback: 0 } }, 3],
  ]
  for (const [why, changed, expected] of servers) {
    it(`adds database servers for ${why}`, () => {
      assert.equal(needsOf({ ...costs, ...changed }, 1_000_000, assumed).servers, expected)
    })
  }

  it('has one process and no database server on SQLite', () => {
    const { processes, connections, servers } = needsOf({ ...costs, store: 'SQLite' }, 1_000_000_000, assumed)
    assert.deepEqual([processes, connections, servers], [1, 0, 0])
  })

  it('prints costs and needs as tables, and says when one process is too few', () => {
    const measured = { predictedBytes: 1_020_000, storedBytes: 1_000_000 }
    const sqlite: Costs = { ...costs, store: 'SQLite', service: { read: 1000, change: 5000, callback: 500 } }
    const lines = capacityTables(
      [
        { ...measured, costs: sqlite },
        { ...measured, costs },
      ],
      assumed,
    ).split('\n')
    assert.deepEqual(
      lines.filter((line) => /^(#|\| (cost|need|a list without|a read|check|processes|connections) )/.test(line)),
      [
        '### Costs',
        '| cost | SQLite | PostgreSQL |',
        '| a list without its items | 100 B | 100 B |',
        '### Needs',
        '| need | 1 M, SQLite | 1 M, PostgreSQL | 10 M, SQLite | 10 M, PostgreSQL | 100 M, SQLite | 100 M, PostgreSQL |',
        '| processes | 1 is too few | 2 | 1 is too few | 2 | 1 is too few | 18 |',
        '| connections |  | 24 |  | 24 |  | 216 |',
      ],
    )
    assert.ok(lines.includes('| a read: processor time of the database server |  | 40.0 µs |'))
    assert.ok(
      lines.includes(
        '| check: bytes of other data, predicted and stored | 1.02 MB, 1.00 MB (1.02) | 1.02 MB, 1.00 MB (1.02) |',
      ),
    )
  })

  it('writes sizes with three digits', () => {
    assert.deepEqual([0, 999.4, 999.6, 1000, 12_345, 999_499, 999_600, 5.5e12, 2e18].map(size), [
      '0 B',
      '999 B',
      '1.00 kB',
      '1.00 kB',
      '12.3 kB',
      '999 kB',
      '1.00 MB',
      '5.50 TB',
      '2000 PB',
    ])
  })
})

describe('a measured process', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'troupe-test-bench-'))
    await mkdir(join(folder, 'dist'))
  })
  afterEach(() => rm(folder, { recursive: true }))
  const startFrom = async (source: string): Promise<Running> => {
    await writeFile(join(folder, 'dist', 'server-troupe.js'), source)
    return startServer('troupe', { database: 'sqlite::memory:', keys: '' }, folder)
  }

  it('that ends before it answers ends the measurement too', async () => {
    await assert.rejects(startFrom('process.exit(3)'), { message: 'Cannot measure: a process ended with 3' })
  })

  it('that ends during a question fails it, and is stopped already', async () => {
    const server = await startFrom("process.send({ port: 1 }); process.on('message', () => process.exit(4))")
    await assert.rejects(server.usage(), { message: 'Cannot measure: a process ended with 4' })
    await server.stop()
  })
})
