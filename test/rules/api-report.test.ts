import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { apiReport, reportPath } from '../../tools/api-report.ts'

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
  })
})
