/** Replacements of the content of an actor that are refused or impossible. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { bytesQuota } from '../../src/actor/quotas.ts'
import { filesQuota } from '../../src/features/files/quotas.ts'
import { itemsQuota, namesQuota } from '../../src/property/quotas.ts'
import { archiveOf, linesOf, planned, replaced } from '../support/archives.ts'
import { forEachService, type TestActor, type TestService } from '../support/service.ts'
import { dumpStore } from '../support/store-dump.ts'

forEachService((start) => {
  const sent = async (actor: TestActor, method: string, path: string, body?: unknown): Promise<void> => {
    const answer = await actor.request(method, path, body)
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${await answer.text()}`)
  }

  async function world(): Promise<{ service: TestService; ada: TestActor; archive: string }> {
    const service = await start({ devtest: true })
    const ada = await service.createActor('ada@example.com')
    await sent(ada, 'PUT', '/properties/color', 'red')
    await sent(ada, 'POST', '/properties', { shopping: { _type: 'list' } })
    for (const item of ['milk', 'bread', 'tea']) await sent(ada, 'POST', '/properties/shopping', item)
    await ada.request('PUT', '/files/hello.txt', 'hello', { 'content-type': 'text/plain' })
    await sent(ada, 'PUT', '/devtest/attribute/private/token', { secret: 1 })
    const archive = await archiveOf(service, ada.id)
    await sent(ada, 'PUT', '/properties/color', 'blue')
    await service.settled()
    return { service, ada, archive }
  }

  const textOf = (lines: readonly object[]): string => lines.map((line) => `${JSON.stringify(line)}\n`).join('')
  const numbered = (lines: readonly object[]): string =>
    textOf([...lines.slice(0, -1), { kind: 'end', records: lines.length - 1 }])

  describe('a replacement of the content of an actor that is refused', () => {
    it('by a damaged archive, wherever the damage is, leaves the actor open and as it was (DUR-26)', async () => {
      const { service, archive } = await world()
      const { store } = await service.app.running()
      const before = await dumpStore(store)
      const lines = linesOf(archive)
      const broken: string[] = []
      for (let n = 0; n < lines.length; n++) broken.push(textOf(lines.slice(0, n)))
      for (let n = 1; n < lines.length - 1; n++) broken.push(textOf(lines.toSpliced(n, 1)))
      for (const [n, line] of lines.entries()) {
        if (!['property', 'list', 'item', 'file', 'bytes', 'attribute', 'archive'].includes(line.kind)) continue
        for (const name of Object.keys(line)) {
          if (['kind', 'exported_at', 'release', 'secrets', 'trustee_root', 'revision', 'version'].includes(name))
            continue
          const { [name]: _left, ...rest } = line
          broken.push(numbered(lines.with(n, rest as (typeof lines)[number])))
        }
      }
      const property = lines.find(({ kind }) => kind === 'property') ?? { kind: 'property' }
      const item = lines.findIndex(({ kind }) => kind === 'item')
      broken.push(numbered(lines.toSpliced(1, 0, { ...property, name: 'shopping' })))
      broken.push(numbered(lines.toSpliced(item, 0, lines[item] ?? property)))
      broken.push('', '{}\n', 'nothing', archive.slice(0, -30))
      assert.ok(broken.length > 40, String(broken.length))
      for (const text of broken) {
        await assert.rejects(replaced(service, text), Error, text)
        assert.deepEqual(await dumpStore(store), before)
      }
    })

    it('by the archive of another actor is refused unless the operator names the actor (DUR-27)', async () => {
      const { service, ada, archive } = await world()
      const [header, ...rest] = linesOf(archive)
      assert.ok(header !== undefined)
      const ben = await service.createActor('ben@example.com')
      const others: readonly (readonly [object, RegExp])[] = [
        [{ url: `https://elsewhere.example.com/${ada.id}` }, /it is of https:\/\/elsewhere\.example\.com/],
        [{ url: `${service.url}/${ben.id}` }, /it is of /],
        [{ created_at: '2020-01-01T00:00:00.000Z' }, /its actor was created at another time/],
        [{ actor: ben.id, url: `${service.url}/${ben.id}` }, /its actor was created at another time/],
      ]
      const { store } = await service.app.running()
      const before = await dumpStore(store)
      for (const [change, message] of others) {
        const other = textOf([{ ...header, ...change }, ...rest])
        await assert.rejects(replaced(service, other), message)
        await assert.rejects(
          replaced(service, other, { as: 'missing' }),
          /Cannot replace actor "missing": it does not exist/,
        )
        assert.deepEqual(await dumpStore(store), before)
      }
      await replaced(service, archive, { as: ben.id })
      assert.equal(await (await ben.request('GET', '/properties/color')).text(), 'red')
      assert.equal(await (await ada.request('GET', '/properties/color')).text(), 'blue')
      assert.equal(await (await ben.request('GET', '/files/hello.txt')).text(), 'hello')
    })

    it('by a quota leaves the actor as it was (QUO-12)', async () => {
      const { service, archive } = await world()
      const { store } = await service.app.running()
      const before = await dumpStore(store)
      for (const [quota, used] of [
        [namesQuota, 2],
        [itemsQuota, 4],
        [filesQuota, 1],
      ] as const) {
        await assert.rejects(
          replaced(service, archive, { quotas: [{ quota, limit: used - 1 }] }),
          (error: { code?: string; detail?: { members?: object } }) => {
            assert.equal(error.code, 'quota_exceeded')
            assert.deepEqual(error.detail?.members, { quota: quota.name, limit: used - 1, used })
            return true
          },
        )
        assert.deepEqual(await dumpStore(store), before)
        await planned(service, archive, { quotas: [{ quota, limit: used }] })
      }
      await assert.rejects(replaced(service, archive, { quotas: [{ quota: bytesQuota, limit: 10 }] }), /bytes of data/)
      assert.deepEqual(await dumpStore(store), before)
    })

    it('while the actor moves or its owner imports an archive leaves both alone (DUR-27)', async () => {
      const { service, ada, archive } = await world()
      const { store } = await service.app.running()
      for (const residence of ['moving', 'moved', 'arriving']) {
        await store.write((tx) => tx.run('UPDATE actor SET residence = $2 WHERE id = $1', ada.id, residence))
        await assert.rejects(replaced(service, archive), /while it moves between services/)
      }
      await store.write((tx) => tx.run(`UPDATE actor SET residence = 'here' WHERE id = $1`, ada.id))
      await store.write((tx) =>
        tx.run(`INSERT INTO job (actor_id, kind, id, last, created_at) VALUES ($1, 'import', '', 1, 0)`, ada.id),
      )
      await assert.rejects(replaced(service, archive), /its owner imports an archive/)
      assert.equal((await ada.request('GET', '/properties/color')).status, 200)
    })
  })

  describe('a replaced list', () => {
    it('does not accept handles and entity tags from before (DUR-28)', async () => {
      const { service, ada, archive } = await world()
      const tagOf = async (): Promise<string> =>
        (await ada.request('GET', '/properties/shopping')).headers.get('etag') ?? ''
      const list = (await service.app.actors.get(ada.id))?.list('shopping')
      assert.ok(list !== undefined)
      await list.append('salt')
      const tag = await tagOf()
      await replaced(service, archive)
      // The same number of changes as before the replacement.
      await list.append('pepper')
      assert.notEqual(await tagOf(), tag)
      const stale = await ada.request('POST', '/properties/shopping', 'sugar', { 'if-match': tag })
      assert.equal(stale.status, 412)
      assert.deepEqual(await list.items(), ['milk', 'bread', 'tea', 'pepper'])
    })
  })
})
