import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { apiReport, reportOf, reportPath } from '../../tools/api-report.ts'

const current = readFileSync(reportPath, 'utf8')

describe('the report of the public declarations', () => {
  it('fits the code; `npm run api-report` writes it again', () => {
    assert.equal(apiReport(), current)
  })

  it('names each entry of the package', () => {
    const entries = [...current.matchAll(/^# (troupe\S*)$/gm)].map(([, entry]) => entry)
    assert.deepEqual(entries, [
      'troupe',
      'troupe/handles',
      'troupe/mcp',
      'troupe/pages',
      'troupe/feature',
      'troupe/client',
      'troupe/react',
      'troupe/testing',
    ])
  })

  it('contains exported declarations and the types behind them, and no internal members', () => {
    for (const line of [
      'export declare function troupe(options: TroupeOptions): App;',
      'export interface ActorHandle extends PagedReadingHandle, WritingHandle, AlarmSetting {',
      'interface StandardIssue {',
      "export type Mode = 'development' | 'production';",
    ])
      assert.ok(current.split('\n').includes(line), line)
    assert.equal(current.includes('startWith('), false)
    assert.equal(current.includes('Replaceable'), false)
  })

  it('promises at most 180 stable names', () => {
    const [, stable = '', experimental = ''] = /^all +(\d+) +(\d+)$/m.exec(current) ?? []
    assert.ok(Number(stable) <= 180, stable)
    assert.ok(Number(experimental) >= 1, experimental)
    const listed = (mark: string): number =>
      [...current.matchAll(new RegExp(`^## ${mark}\n\n((?:\\w+\n)+)`, 'gm'))].flatMap(([, names = '']) =>
        names.trim().split('\n'),
      ).length
    assert.deepEqual([listed('stable'), listed('experimental')], [Number(stable), Number(experimental)])
  })

  it('has the declarations behind experimental members in its last part only', () => {
    const [, stable = '', experimental = ''] = current.split(/^# Declarations .*$/m)
    assert.ok(stable.includes('    // Experimental:\n    readonly history: HistoryHandle;\n'))
    for (const line of ['export interface HistoryHandle {', 'export interface PastChange {'])
      assert.deepEqual([stable.includes(line), experimental.includes(line)], [false, true], line)
  })
})

describe('members that another module adds to an interface', () => {
  it('are part of it, with the types behind them', () => {
    const files: Readonly<Record<string, string>> = {
      'index.d.ts': "export type { Handle } from './core/handle.ts';\nexport type { Extra } from './part/extra.ts';\n",
      'core/handle.d.ts': '/** @public */\nexport interface Handle {\n    readonly id: string;\n}\n',
      'part/extra.d.ts':
        "/** @public */\nexport interface Extra {\n}\ninterface Behind {\n}\ndeclare module '../core/handle.ts' {\n    interface Handle {\n        readonly behind: Behind;\n    }\n}\n",
    }
    const report = reportOf((path) => files[path] ?? '', [{ entry: 'troupe', path: 'index.d.ts' }])
    assert.ok(report.includes('    readonly id: string;\n}\ninterface Handle {\n    readonly behind: Behind;\n}\n'))
    assert.ok(report.includes('interface Behind {\n}\n'))
  })
})

describe('the marks of exported declarations', () => {
  const report = (one: string, index = "export type { Stable } from './one.ts';\n"): string =>
    reportOf((path) => (path === 'index.d.ts' ? index : one), [{ entry: 'troupe', path: 'index.d.ts' }])

  it('decide the list of a name, in each form of a comment', () => {
    for (const [comment, mark] of [
      ['/** Text. @public */', 'stable'],
      ['/**\n * Text: `/` and `{`.\n *\n * @public\n */', 'stable'],
      ['/** Text. @experimental */', 'experimental'],
      ['/**\n * Text.\n *\n * @experimental\n */', 'experimental'],
    ] as const)
      assert.ok(
        report(`${comment}\nexport interface Stable {\n}\n`).includes(`# troupe\n\n## ${mark}\n\nStable\n`),
        comment,
      )
  })

  it('cover a name of another package, by the comment of its export', () => {
    const index = "/** A tag. @public */\nexport { html } from 'hono/html';\n"
    assert.ok(report('', index).includes('# troupe\n\n## stable\n\nhtml\n'))
    assert.throws(
      () => report('', "export { html } from 'hono/html';\n"),
      /^Error: The exported name html has no mark: /,
    )
  })

  it('must exist, and an internal name is not exported', () => {
    for (const comment of ['', '/** Text. */\n', '/** `public` text, @publicly. */\n', '// @public\n'])
      assert.throws(
        () => report(`${comment}export interface Stable {\n}\n`),
        /^Error: The exported name Stable has no mark: add @public or @experimental to the comment of its declaration$/,
        comment,
      )
    assert.throws(
      () => report('/** Text. @internal */\nexport interface Stable {\n}\n'),
      /^Error: The entry index\.d\.ts exports Stable, which is internal$/,
    )
  })

  it('refuse a stable name that needs an experimental one, unless the member is experimental', () => {
    const tried = '/** Text. @experimental */\nexport interface Tried {\n}\n'
    const stable = (member: string): string => `/** Text. @public */\nexport interface Stable {\n${member}\n}\n${tried}`
    const behind = `${stable('    readonly a: Behind;')}interface Behind {\n    readonly tried: Tried;\n}\n`
    for (const [text, needs] of [
      [stable('    readonly tried: Tried;'), 'Stable needs Tried'],
      [stable('    /** @experimental */\n    readonly a: string;\n    readonly tried: Tried;'), 'Stable needs Tried'],
      [stable('    try(what: {\n        readonly one: Tried;\n    }): void;'), 'Stable needs Tried'],
      [behind, 'Behind needs Tried'],
    ] as const)
      assert.throws(() => report(text), {
        message: `A stable name needs an experimental one. Mark the member with @experimental: ${needs}`,
      })
    for (const member of [
      '    /** Text. @experimental */\n    readonly tried: Tried;',
      '    /** @experimental */\n    try(what: {\n        readonly one: Tried;\n    }): void;\n    readonly other: string;',
      "    readonly text: 'Tried';",
    ])
      assert.ok(report(stable(member)).includes('\n## stable\n\nStable\n'), member)
  })
})
