import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { z } from 'zod'
import { html } from '../../src/index.ts'
import type { PageValues } from '../../src/pages.ts'
import { sqliteService } from '../support/service.ts'

interface ApiDocument {
  readonly paths: Record<string, Record<string, { readonly operationId?: string; readonly tags?: readonly string[] }>>
}

const start = sqliteService()

describe('the reference of the API', () => {
  it('has every operation of the OpenAPI document but the forms of the pages, once', async () => {
    const shown: PageValues<'reference'>[] = []
    const service = await start({
      declare: (app) => app.action('pay', { description: 'Pays', input: z.object({ sum: z.number() }) }, () => ({})),
      pages: { reference: (values) => (shown.unshift(values), html`reference`) },
    })
    assert.equal((await service.request('/docs')).status, 200)
    const { paths } = (await (await service.request('/openapi.json')).json()) as ApiDocument
    const documented = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([, { tags = [] }]) => !tags.includes('www'))
        .map(([method]) => `${method.toUpperCase()} ${path}`),
    )
    const operations = shown[0]?.groups.flatMap((group) => group.operations) ?? []
    assert.deepEqual(operations.map(({ method, path }) => `${method} ${path}`).toSorted(), documented.toSorted())
    assert.equal(new Set(operations.map(({ id }) => id)).size, operations.length)
    assert.ok(documented.includes('POST /{actor}/actions/pay'))
    const groups = shown[0]?.groups.map(({ name }) => name) ?? []
    assert.equal(new Set(groups).size, groups.length)
    assert.ok(groups.includes('properties'))
  })

  it('says of each operation what the document says', async () => {
    const shown: PageValues<'reference'>[] = []
    const service = await start({ pages: { reference: (values) => (shown.unshift(values), html`reference`) } })
    await service.request('/docs')
    const operations = shown[0]?.groups.flatMap((group) => group.operations) ?? []
    const activity = operations.find(({ id }) => id === 'listActivity')
    assert.equal(activity?.is_protected, true)
    assert.deepEqual(
      activity.parameters.map(({ name, place, is_required, type }) => [name, place, is_required, type]),
      [
        ['actor', 'path', true, 'string'],
        ['caller', 'query', false, 'string'],
        ['outcome', 'query', false, '"allowed" | "asked" | "denied"'],
        ['kind', 'query', false, '"properties" | "files" | "operations" | "connections" | "updates" | "other"'],
        ['property', 'query', false, 'string'],
        ['from', 'query', false, 'string'],
        ['until', 'query', false, 'string'],
        ['limit', 'query', false, 'integer 1…1000'],
        ['cursor', 'query', false, 'string'],
      ],
    )
    assert.equal(operations.find(({ id }) => id === 'live')?.is_protected, false)
    assert.equal(operations.find(({ id }) => id === 'getMeta' || id === 'meta')?.is_protected ?? false, false)
  })

  it('escapes the texts of the application', async () => {
    const service = await start({
      declare: (app) => app.action('pay', { description: '<script>alert(1)</script> `<b>`' }, () => ({})),
    })
    const page = await (await service.request('/docs')).text()
    assert.match(page, /&lt;script&gt;alert\(1\)&lt;\/script&gt; <code>&lt;b&gt;<\/code>/)
    assert.equal(/<script/.test(page), false)
  })

  it('does not exist when the pages are turned off', async () => {
    const service = await start({ webUi: false })
    assert.equal((await service.request('/docs')).status, 404)
  })
})
