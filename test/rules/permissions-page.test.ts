import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { covers } from '../../src/permission/pattern.ts'
import { judgeRule, mergeRules, operationsOf, type OverrideRule, type Rule } from '../../src/permission/rules.ts'

const page = readFileSync(join(dirname(dirname(import.meta.dirname)), 'docs', 'permissions.md'), 'utf8')

/** The rows of the table with these columns, with plain text in the cells. */
function rowsOf(...columns: readonly string[]): readonly (readonly string[])[] {
  const [, table = ''] = page.split(`| ${columns.join(' | ')} |\n|${'---|'.repeat(columns.length)}\n`)
  const lines = table.slice(0, table.search(/^(?!\|)/m)).trimEnd()
  return lines.split('\n').map((line) =>
    line
      .slice(2, -2)
      .split(' | ')
      .map((cell) => cell.replaceAll('`', '')),
  )
}

describe('the page about permissions', () => {
  it('names every category with its operations', () => {
    const rows = rowsOf('Category', 'Operations', 'Target').map(([category, operations = '']) => [
      category,
      operations.split(', '),
    ])
    assert.deepEqual(rows, Object.entries(operationsOf))
  })

  it('says correctly which targets a pattern covers', () => {
    const rows = rowsOf('Pattern', 'Target', 'Covers')
    assert.equal(rows.length, 18)
    for (const [pattern = '', target = '', answer] of rows) {
      assert.equal(covers(pattern, target) ? 'yes' : 'no', answer, `${pattern} and ${target}`)
    }
  })

  it('says correctly what a rule decides, and by which member', () => {
    const rows = rowsOf('Rule', 'Operation', 'Target', 'Result', 'Decided by')
    assert.equal(rows.length, 32)
    for (const [rule = '', operation = '', target = '', result, by] of rows) {
      const verdict = judgeRule(JSON.parse(rule) as Rule, operation, target)
      assert.deepEqual([verdict.allowed ? 'allowed' : 'denied', verdict.by], [result, by], `${rule} ${target}`)
    }
  })

  it('says correctly what an override changes', () => {
    const rows = rowsOf('Trust type', 'Override', 'Operation', 'Target', 'Result')
    assert.equal(rows.length, 11)
    for (const [base = '', override = '', operation = '', target = '', result] of rows) {
      const properties = JSON.parse(override) as OverrideRule
      const merged = mergeRules({ properties: JSON.parse(base) as Rule }, { properties })
      const { allowed } = judgeRule(merged.properties, operation, target)
      assert.equal(allowed ? 'allowed' : 'denied', result, `${base} with ${override}`)
    }
  })
})
