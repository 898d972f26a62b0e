/** The languages of the pages: the choice for a request, the options of an application, and the forms of nouns. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ConfigError } from '../../src/config/config-error.ts'
import type { RequestHead } from '../../src/http/edge/request.ts'
import { english } from '../../src/pages/languages/english.ts'
import { german } from '../../src/pages/languages/german.ts'
import type { ConsoleOptions } from '../../src/pages/languages/language.ts'
import { Languages } from '../../src/pages/languages/languages.ts'

function requestWith(headers: Readonly<Record<string, string>>): RequestHead {
  return { method: 'GET', header: (name) => headers[name], hasRepeated: () => false }
}

const inEnglish = english.messages(english.noun)

describe('the language of a request', () => {
  const languages = new Languages({ languages: { 'pt-BR': inEnglish, ar: inEnglish } })
  for (const [accepted, tag] of [
    ['', 'en'],
    ['*', 'en'],
    ['de', 'de'],
    ['de-AT', 'de'],
    ['DE-Latn-AT', 'de'],
    ['fr, de;q=0.8', 'de'],
    ['fr;q=0.9, de;q=0.1, en;q=0.5', 'en'],
    ['de;q=0', 'en'],
    ['pt-br', 'pt-BR'],
    ['pt', 'en'],
    ['not a language', 'en'],
  ] as const) {
    it(`is ${tag} for Accept-Language ${JSON.stringify(accepted)}`, () => {
      assert.equal(languages.of(requestWith({ 'accept-language': accepted })).tag, tag)
    })
  }

  it('is that of the cookie before that of the browser', () => {
    assert.equal(languages.of(requestWith({ cookie: '__Host-language=de', 'accept-language': 'en' })).tag, 'de')
    assert.equal(languages.of(requestWith({ cookie: '__Host-language=xx', 'accept-language': 'de' })).tag, 'de')
  })

  it('has the direction of its script', () => {
    assert.equal(languages.find('ar').direction, 'rtl')
    assert.equal(languages.find('de').direction, 'ltr')
  })

  it('is one that the application offers', () => {
    const only = new Languages({ language: 'de', offered: ['de'] })
    assert.equal(only.of(requestWith({ 'accept-language': 'en' })).tag, 'de')
  })
})

describe('the option console', () => {
  it('replaces single messages, and the noun for an actor with its forms', () => {
    const languages = new Languages({
      messages: { de: { frame: { signOut: 'Raus' } } },
      nouns: {
        en: { one: 'space', many: 'spaces', a: 'a space' },
        de: { gender: 'masculine', one: 'Bereich', genitive: 'Bereichs', many: 'Bereiche' },
      },
    })
    const { messages: de } = languages.find('de')
    const { messages: en } = languages.find('en')
    assert.equal(de.frame.signOut, 'Raus')
    assert.equal(de.frame.skip, 'Zum Inhalt springen')
    assert.equal(en.frame.signOut, 'Sign out')
    assert.equal(en.signIn.claim, 'There is already a space with this email')
    assert.equal(de.signIn.claim, 'Es gibt bereits einen Bereich mit dieser E-Mail-Adresse')
    assert.equal(de.signIn.claimNew, 'Einen neuen Bereich beginnen')
    assert.equal(de.failed.back, 'Zurück zu Ihrem Bereich')
    assert.equal(de.rights.allSubscriptions(['ansehen']), 'Kann die Abonnements Ihres Bereichs ansehen.')
  })

  const wrong: readonly (readonly [what: string, options: unknown, message: RegExp])[] = [
    ['another member', { colour: 'red' }, /the member "colour" does not exist/],
    ['a default that is not offered', { language: 'fr' }, /console\.language is "fr", which is not offered/],
    ['an offered language without messages', { offered: ['fr'] }, /names the language "fr", which does not exist/],
    ['an invalid tag', { languages: { french_: inEnglish } }, /expected a BCP 47 tag like fr/],
    ['a language with a missing group', { languages: { fr: {} } }, /the message frame is missing/],
    ['a language with a missing message', { languages: { fr: { ...inEnglish, frame: {} } } }, /frame\.skip is missing/],
    ['an unknown message', { messages: { de: { frame: { titel: 'x' } } } }, /the member "titel" does not exist/],
    ['a string for a function', { messages: { de: { frame: { errorTitle: 'x' } } } }, /must be a function/],
    ['a function for a string', { messages: { de: { frame: { skip: () => 'x' } } } }, /must be a string/],
    ['a noun without a form', { nouns: { en: { one: 'space', many: 'spaces' } } }, /console\.nouns\.en\.a must be/],
    [
      'another gender',
      { nouns: { de: { gender: 'n', one: 'x', genitive: 'x', many: 'x' } } },
      /must be masculine, feminine or neuter/,
    ],
  ]
  for (const [what, options, message] of wrong) {
    it(`refuses ${what}`, () => {
      assert.throws(
        () => new Languages(options as ConsoleOptions),
        (error) => error instanceof ConfigError && message.test(error.message),
      )
    })
  }
})

describe('German messages', () => {
  const de = german.messages(german.noun)

  it('put the verbs of a right at the end of its sentence', () => {
    const notes = { isAll: false, names: ['notes'], places: ['logs'], beginnings: [], shapes: [] }
    assert.equal(
      de.rights.can(['ansehen', 'ändern'], notes, null, null),
      'Kann „notes“ und alles in „logs“ ansehen und ändern.',
    )
    assert.equal(de.check.cannot('Ada', 'löschen', 'notes'), 'Ada kann „notes“ nicht löschen.')
  })

  it('count, and write numbers and times as the language does', () => {
    assert.equal(de.properties.deleteCount(1), '1 Eigenschaft löschen')
    assert.equal(de.properties.deleteCount(1234), '1.234 Eigenschaften löschen')
    assert.equal(de.time.relative(-3, 'minute'), 'vor 3 Minuten')
    assert.equal(de.time.exact(new Date(Date.UTC(2030, 0, 31, 18, 0, 5))), '31.01.2030, 18:00:05 UTC')
    assert.equal(de.files.size(2.5 * 1024 * 1024), '2,5 MB')
  })
})
