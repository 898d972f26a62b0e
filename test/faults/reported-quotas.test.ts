/** Reports of quotas that are nearly full, which the service reads in pages. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { OwnerMails, type OwnerMailsDeps } from '../../src/features/mail/owner-mails.ts'
import { note } from '../../src/features/mail/note-store.ts'
import { seeded } from '../support/random.ts'
import { forEachService } from '../support/service.ts'

/** Reports of the actors, in the order of their ids. A page has 500. */
const random = seeded(11)
const generated = Array.from({ length: 3 }, () => Array.from({ length: 6 }, () => 1 + random.below(200)))
const shapes = [[500], [501], [499, 3], [500, 2], [1, 500, 2], ...generated]

forEachService((start) => {
  describe('the reports of quotas of which little is used again', () => {
    for (const reports of shapes)
      it(`all end, with ${reports.join(', ')} of the actors`, async () => {
        const service = await start()
        const { store } = await service.app.running()
        for (const [at, count] of reports.entries()) {
          const { id } = (await service.app.actors.create({ id: `a${at}` })).actor
          await store.write(async (tx) => {
            for (let number = 0; number < count; number += 1)
              await note(tx, id, { kind: 'quota', subject: `quota ${number}` }, { now: store.now() })
          })
        }
        const deps = { store, quotaUses: () => Promise.resolve([]) } as unknown as OwnerMailsDeps
        await new OwnerMails(deps).forgetCalm()
        assert.deepEqual(await store.read((q) => q.all('SELECT subject FROM mail_note')), [])
      })
  })
})
