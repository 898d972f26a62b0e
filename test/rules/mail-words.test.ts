/** The messages about events, in each language of the pages, with values that others choose. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { written } from '../../src/features/mail/letter.ts'
import { Languages } from '../../src/pages/languages/languages.ts'
import type { Messages } from '../../src/pages/languages/language.ts'

type Mail = Messages['mail']
type Values = Readonly<Record<'service' | 'peer' | 'caller' | 'operation' | 'device' | 'to', string>>

const composed: Readonly<Record<string, (mail: Mail, values: Values) => ReturnType<Mail['approval']>>> = {
  approval: (mail, values) => mail.approval(values),
  invitation: (mail, values) => mail.invitation(values),
  newDevice: (mail, values) => mail.newDevice(values),
  failing: (mail, values) => mail.failing(values),
  moveStarted: (mail, values) => mail.moveStarted(values),
  moveFinished: (mail, values) => mail.moveFinished(values),
  exported: (mail, values) => mail.exported(values),
  quota: (mail, values) => mail.quota({ ...values, uses: [values.peer] }),
}
const plain: Values = {
  service: 'Notes',
  peer: 'Bob',
  caller: 'Bob',
  operation: 'clear',
  device: 'Firefox',
  to: 'b.example',
}
const stop = { text: 'Stop', url: 'https://notes.example/a/mail/unsubscribe?kind=quota&proof=x' }
const url = 'https://notes.example/a/www/move'

describe('the messages about events', () => {
  for (const language of new Languages().offered)
    for (const [kind, words] of Object.entries(composed)) {
      const { messages } = language
      const letterOf = (values: Values) =>
        written(
          { words: words(messages.mail, values), url, footer: messages.mail.footer(values.service), stop },
          language,
        )

      it(`have a subject, text and one link: ${kind} (${language.tag})`, async () => {
        const { subject, text, html } = await letterOf(plain)
        assert.ok(subject.length > 0 && subject.length < 80, subject)
        assert.deepEqual(text.match(/https:\/\/\S+/g), [url, stop.url])
        assert.deepEqual(
          [...String(html).matchAll(/href="([^"]+)"/g)].map(([, href]) => href),
          [url, stop.url.replaceAll('&', '&amp;')],
        )
        assert.doesNotMatch(text, /undefined|\[object/)
      })

      it(`escape the values that others choose, and keep the subject one line: ${kind} (${language.tag})`, () =>
        fc.assert(
          fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 40 }), async (noise) => {
            const hostile = `<b>"'&\r\nBcc: eve@example.com ${noise}`
            const values = Object.fromEntries(Object.keys(plain).map((name) => [name, hostile])) as Values
            const { subject, html } = await letterOf(values)
            assert.doesNotMatch(subject, /[\r\n]/)
            assert.doesNotMatch(String(html), /<b>/)
          }),
          { numRuns: 25 },
        ))
    }
})
