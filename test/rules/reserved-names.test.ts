import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { english } from '../../src/pages/languages/english.ts'
import { german } from '../../src/pages/languages/german.ts'
import { isReservedName } from '../../src/trust/names/reserved-names.ts'
import { seeded } from '../support/random.ts'

describe('a reserved name', () => {
  for (const name of [
    'You',
    'you',
    ' YOU ',
    'Y o u',
    'y.o.u',
    '«You»',
    'You!',
    'You ✓',
    'Yоu',
    'Уou',
    'Υου',
    'Ｙｏｕ',
    '𝗬𝗼𝘂',
    'Ⓨⓞⓤ',
    'Yöu',
    'Y\u200bou',
    'You\u2060',
    'Y\u00adou',
    'You\u3164',
    'Y0u',
    'You (Firefox on Linux)',
    'You(',
    'ʏᴏᴜ',
    'YOU\u202e',
    'Troupe',
    'TROUPE',
    'Tгоupe',
    'Troup℮',
    'Тгоире',
    'Τrοuρε',
    'Ꭲroupe',
    'T roupe',
    'Tr0up3',
    'Owner',
    'The owner',
    'the  Owner',
    'Оwner',
    '0wner',
    'Ovvner',
    'Owner (verified)',
    'Account owner',
    'Operator',
    'Operators',
    'Operator Ada',
    'Operator: Ada',
    '0perat0r Ada',
    'operator-ada',
    'Betreiber Ada',
    'Trustee',
    'Peer',
    'Client',
    'CIient',
    'Clіent',
    'C1ient',
    'Anonymous',
    'Unknown visitor (192.0.2.1)',
    'Creator',
    'Sie',
    'Du',
    'Eigentümer',
    'Eigentumer',
    'Der Eigentümer',
    'Treuhänder',
    'Die Anwendung',
    'Aḍmin',
    'Trustee (verified)',
  ])
    it(`is ${JSON.stringify(name)} (OAZ-19)`, () => {
      assert.equal(isReservedName(name), true)
    })

  for (const name of [
    'Claude',
    'ChatGPT',
    'Cursor',
    'Young',
    'Youtube',
    'Thank You',
    'Troupe notes',
    'Owners Club',
    'Cooperator',
    'Peer Smith',
    'Your assistant',
    'Operations',
    'Ada',
    'Ада',
    'Ελλάδα',
    '山田',
    'Siena',
    'A client',
    '',
    'Client for mail',
    'The mail',
    'Service desk',
    'U',
    'Yo',
    '💡',
    'OAuth2 program',
    'A program',
  ])
    it(`is not ${JSON.stringify(name)} (OAZ-19)`, () => {
      assert.equal(isReservedName(name), false)
    })

  it('is found in generated spellings (OAZ-19)', () => {
    const random = seeded(28)
    const likeO = ['o', 'O', '0', 'о', 'О', 'ο', 'Ο', 'օ', 'ｏ', '𝐨', 'ö', 'ô', 'ø', '०', 'ᴏ'] as const
    const likeE = ['e', 'E', 'е', 'Ε', 'ｅ', '𝐞', 'é', '℮', 'ᴇ', '3'] as const
    const likeP = ['p', 'P', 'р', 'Ρ', 'ｐ', '𝐩', 'ᴘ'] as const
    const between = ['', '', '', ' ', '\u200b', '\u200d', '-', '.', '\u0301', '\u2063'] as const
    for (let run = 0; run < 2000; run++) {
      const letters = ['T', 'r', random.pick(likeO), 'u', random.pick(likeP), random.pick(likeE)]
      const name = letters.map((letter) => letter + random.pick(between)).join('')
      assert.equal(isReservedName(name), true, JSON.stringify(name))
    }
  })

  it('is every word that pages use for the owner, an operator or an unknown caller (OAZ-19)', () => {
    for (const { messages, noun } of [english, german]) {
      const { activity } = messages(noun as never)
      for (const name of [
        activity.you,
        `${activity.you} (Firefox on Linux)`,
        activity.trustee,
        activity.unknown,
        activity.unknownAt('192.0.2.1'),
        activity.operator('Ada'),
      ])
        assert.equal(isReservedName(name), true, name)
    }
  })
})
