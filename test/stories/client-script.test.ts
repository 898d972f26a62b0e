import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { sqliteService } from '../support/service.ts'

const start = sqliteService()

describe('GET /assets/troupe-client.js', () => {
  it('returns the client as a script without types, and answers 304 to its tag', async () => {
    const service = await start()
    const response = await service.request('/assets/troupe-client.js')
    assert.equal(response.status, 200)
    assert.equal(response.headers.get('content-type'), 'text/javascript; charset=utf-8')
    assert.equal(response.headers.get('cache-control'), 'public, max-age=0, must-revalidate')
    const text = await response.text()
    assert.match(text, /createClient/)
    assert.doesNotMatch(text, /import type|export type/)
    const again = await service.request('/assets/troupe-client.js', {
      headers: { 'if-none-match': response.headers.get('etag') ?? '' },
    })
    assert.equal(again.status, 304)
  })

  it('returns the modules that the script imports, and no other source', async () => {
    const service = await start()
    const imported = new Set(['troupe-client.js'])
    for (const name of imported) {
      const response = await service.request(`/assets/${name}`)
      assert.equal(response.status, 200, name)
      for (const [, target = ''] of (await response.text()).matchAll(/^(?:import|export|\}).*from '\.\/([^']+)'/gm))
        imported.add(name.includes('/') ? `client/${target}` : target)
    }
    assert.ok(imported.has('client/session-state.ts'))
    for (const name of ['client.ts', 'client/none.ts', 'service.ts', 'react.ts'])
      assert.equal((await service.request(`/assets/${name}`)).status, 404, name)
    assert.equal((await service.request('/assets/client/..%2Fservice.ts')).status, 400)
  })
})
