import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Registry } from '../../src/app/registry.ts'
import { catalogueOf } from '../../src/mcp/catalogue/catalogue.ts'
import { Declared } from '../../src/mcp/catalogue/declared.ts'

describe('a declared resource', () => {
  it('needs owner approval by its URI and by its URI template', () => {
    const registry = new Registry()
    const metadata = { confirm: 'owner', mcp: { resource: { uri: 'notes://{id}' } } } as const
    registry.addOperation('methods', 'read_note', metadata, () => null)
    const declared = new Declared(registry, catalogueOf(registry))
    for (const name of ['notes://{id}', 'notes://7']) {
      assert.equal(declared.has('resources', name), true, name)
      assert.equal(declared.needsApproval('resources', name), true, name)
    }
    assert.equal(declared.has('resources', 'other://7'), false)
    assert.equal(declared.needsApproval('resources', 'other://7'), false)
  })
})
