/** The settings of the mail server. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { resolveConfig } from '../../src/features/config.ts'
import { parseSender, smtpServerOf, smtpUrlFault } from '../../src/features/mail/smtp-settings.ts'

describe('TROUPE_SMTP_URL', () => {
  for (const [url, host, port, encryption] of [
    ['smtps://mail.example.com', 'mail.example.com', 465, 'tls'],
    ['smtp://mail.example.com', 'mail.example.com', 587, 'starttls'],
    ['smtp://mail.example.com:25/', 'mail.example.com', 25, 'starttls'],
    ['smtp://mail:25?tls=off', 'mail', 25, 'none'],
    ['smtp://localhost:1025', 'localhost', 1025, 'none'],
    ['smtp://127.0.0.1:1025', '127.0.0.1', 1025, 'none'],
    ['smtp://[::1]:1025', '::1', 1025, 'none'],
    ['smtp://localhost.example.com', 'localhost.example.com', 587, 'starttls'],
    ['smtps://localhost', 'localhost', 465, 'tls'],
  ] as const) {
    it(`reads ${url}`, () => {
      assert.deepEqual(smtpServerOf(url), { host, port, encryption, login: null })
    })
  }

  it('has a percent-encoded user and password', () => {
    assert.deepEqual(smtpServerOf('smtps://ada%40example.com:p%3A%2F%40@mail.example.com').login, {
      user: 'ada@example.com',
      password: 'p:/@',
    })
  })

  for (const [url, fault] of [
    ['', 'must be smtps://<user>:<password>@<host> or smtp://<user>:<password>@<host>'],
    ['mail.example.com:587', 'must be smtps://<user>:<password>@<host> or smtp://<user>:<password>@<host>'],
    ['https://mail.example.com', 'must be smtps://<user>:<password>@<host> or smtp://<user>:<password>@<host>'],
    ['smtps://', 'must be smtps://<user>:<password>@<host> or smtp://<user>:<password>@<host>'],
    ['smtps://mail.example.com/box', 'must be smtps://<user>:<password>@<host> or smtp://<user>:<password>@<host>'],
    ['smtps://mail%0Aexample.com', 'must be smtps://<user>:<password>@<host> or smtp://<user>:<password>@<host>'],
    ['smtps://mail.example.com?tls=off', 'may have no parameter but tls=off, which needs smtp:'],
    ['smtp://mail.example.com?tls=on', 'may have no parameter but tls=off, which needs smtp:'],
    ['smtp://mail.example.com?tls=off&x=1', 'may have no parameter but tls=off, which needs smtp:'],
    ['smtps://ada@mail.example.com', 'must have both a user and a password, or neither'],
    ['smtps://:secret@mail.example.com', 'must have both a user and a password, or neither'],
    ['smtps://ada:%E0%A4@mail.example.com', 'must have a percent-encoded user and password'],
    [
      'smtp://ada:secret@mail.example.com?tls=off',
      'must not have a password with tls=off, because others could read it on the way',
    ],
  ] as const) {
    it(`refuses ${JSON.stringify(url)}`, () => {
      assert.equal(smtpUrlFault(url), fault)
    })
  }

  it('is not part of the error', () => {
    const env = { TROUPE_MODE: 'development', TROUPE_SMTP_URL: 'smtp://ada:hidden@mail.example.com?tls=no' }
    assert.throws(() => resolveConfig({}, env), {
      message: 'TROUPE_SMTP_URL may have no parameter but tls=off, which needs smtp:.',
    })
  })
})

describe('TROUPE_MAIL_FROM', () => {
  for (const [text, name, address] of [
    ['notes@example.com', '', 'notes@example.com'],
    ['<notes@example.com>', '', 'notes@example.com'],
    [' Notes of Müller <notes@example.com> ', 'Notes of Müller', 'notes@example.com'],
    ['Notes, and more: all <notes@example.com>', 'Notes, and more: all', 'notes@example.com'],
    ['notes@bücher.example', '', 'notes@xn--bcher-kva.example'],
  ] as const) {
    it(`reads ${JSON.stringify(text)}`, () => {
      assert.deepEqual(parseSender(text), { name, address })
    })
  }

  for (const text of [
    '',
    'Notes',
    'Notes <notes>',
    'Notes <notes@example.com',
    'Notes <notes@example.com> x',
    'a@example.com, b@example.com',
    'Notes <a@example.com, b@example.com>',
    'Notes <notes@example.com\r\nBcc: eve@example.com>',
    'Notes\r\nBcc: eve@example.com <notes@example.com>',
    'Notes\0 <notes@example.com>',
    'Notes\u2028x <notes@example.com>'.replace('\u2028', '\u200b'),
  ]) {
    it(`refuses ${JSON.stringify(text)}`, () => {
      assert.equal(parseSender(text), null)
    })
  }
})
