/** The words of the pages: all in the catalogs of `src/pages/languages`, in English and German. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { parseSync } from 'rolldown/utils'
import { english } from '../../src/pages/languages/english.ts'
import { german } from '../../src/pages/languages/german.ts'
import { liveScript } from '../../src/pages/live/live-script.ts'

const root = join(import.meta.dirname, '..', '..')

interface SyntaxNode {
  readonly type: string
  readonly [member: string]: unknown
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
}

function nameOf(node: unknown): string {
  if (!isNode(node)) return ''
  if (node.type === 'MemberExpression') return nameOf(node['property'])
  return typeof node['name'] === 'string' ? node['name'] : ''
}

/** Members whose strings are for programs: headers, descriptions in the OpenAPI document, and texts of errors. */
const forPrograms: ReadonlySet<string> = new Set(['summary', 'description', 'responses', 'headers'])

/** Functions whose arguments are for programs or operators. The second argument of `pageRefusal` is for API clients. */
const ofPrograms: ReadonlySet<string> = new Set([
  'choiceField',
  'hintField',
  'integerField',
  'ServiceError',
  'OAuthError',
  'ConfigError',
  'Error',
  'formRefusal',
  'inputRefusal',
  'pageRefusal',
  'refused',
  'malformed',
  'missing',
  'stringField',
  'timeField',
  'requireMembers',
  'error',
])

/** A phrase, or a word that begins with a capital letter. */
const phrase = /\p{L}{2,}[,.:;!?…]* +\p{L}+|^\p{Lu}\p{Ll}+[.!?…]?$/u

/** Attributes of HTML that people read. */
const attribute = /(?:aria-label|title|placeholder|alt|label)="([^"$]*\p{L}[^"$]*)"/gu

/** The words of people in the text of an `html` template, without its tags. */
function wordsOfHtml(text: string): string[] {
  // A template such as ` open` has the attributes of a tag.
  const isAttributes = text.startsWith(' ') && !text.includes('<')
  const shown = text
    .replace(/<(?:style|script|code)[^]*?<\/(?:style|script|code)>/g, ' ')
    .replace(/<[^>]*>?|^[^<]*?>/g, ' ')
  return [
    ...(isAttributes ? [] : [...shown.matchAll(/\p{L}{2,}[^<>]*/gu)].map(([found]) => found.trim())),
    ...[...text.matchAll(attribute)].map(([, found = '']) => found),
  ]
}

/** Returns the words in a source text that its readers see. */
function wordsIn(path: string, text: string): string[] {
  const found: string[] = []
  const visit = (node: unknown, isForPrograms: boolean): void => {
    if (Array.isArray(node)) {
      for (const each of node as unknown[]) visit(each, isForPrograms)
      return
    }
    if (!isNode(node)) return
    if (node.type === 'ImportDeclaration' || node.type.startsWith('TS')) return visit(node['expression'], isForPrograms)
    if (node.type === 'TaggedTemplateExpression' && nameOf(node['tag']) === 'html') {
      const { quasis, expressions } = node['quasi'] as { quasis: { value: { raw: string } }[]; expressions: unknown[] }
      // The values become a mark that is neither a letter nor a tag.
      found.push(...wordsOfHtml(quasis.map(({ value }) => value.raw).join('¤')))
      return visit(expressions, isForPrograms)
    }
    const callee = nameOf(node['callee'])
    const isHere =
      isForPrograms ||
      ofPrograms.has(callee) ||
      (node.type === 'Property' && forPrograms.has(nameOf(node['key']))) ||
      node.type === 'RegExpLiteral'
    if (node.type === 'Literal' && typeof node['value'] === 'string' && !isHere && phrase.test(node['value']))
      found.push(node['value'])
    if (node.type === 'TemplateElement' && !isHere) {
      const { raw } = node['value'] as { raw: string }
      if (phrase.test(raw)) found.push(raw)
    }
    for (const [member, value] of Object.entries(node)) if (member !== 'type') visit(value, isHere)
  }
  const { program } = parseSync(path, text)
  visit(program, false)
  return found.map((words) => `${path}: ${words}`)
}

/** Reasons of the audit log that the page of activities looks up, an example of a name, header fields and errors at the start. */
const allowed: ReadonlySet<string> = new Set([
  'src/pages/activity/activity-page.ts: the path is its own',
  'src/pages/activity/activity-page.ts: the path names this peer',
  'src/pages/activity/activity-page.ts: open to everybody',
  'src/pages/activity/activity-page.ts: an operator of the service',
  'src/pages/activity/activity-page.ts: sent to sign in',
  'src/pages/activity/activity-page.ts: the relationship is not approved',
  'src/pages/activity/activity-page.ts: the owner approved it',
  'src/pages/activity/activity-page.ts: the owner denied it',
  'src/pages/activity/view.ts: UTC · ¤¤ ·',
  'src/pages/properties/selection.ts: attachment; filename="properties.json"',
  'src/pages/relationships/peer-view.ts: notes/1',
  'src/pages/shared/layout.ts: light dark',
  'src/pages/shared/site.ts: Accept-Language, Cookie',
  'src/pages/shared/templates.ts: it needs ',
  'src/pages/shared/templates.ts: , which does not exist',
])

/** Header fields, JSON members, and descriptions for the OpenAPI document, in routes that answer programs too. */
const forProgramsToo: ReadonlySet<string> = new Set([
  'src/pages/assets/routes.ts: text/javascript; charset=utf-8',
  'src/pages/consent/client-redirect.ts: Location',
  'src/pages/consent/consent.ts: The provider has no verified address of the owner',
  'src/pages/consent/consent.ts: The owner did not sign in',
  'src/pages/sign-in/routes/email.ts:  does not say which e-mail address is yours. Enter the one by which you want to be known here.',
  'src/pages/sign-in/routes/email.ts: You are signed in; the address waits to be verified',
  'src/pages/sign-in/routes/email.ts: Thank you: the address is verified.',
  'src/pages/sign-in/routes/factory.ts: create an actor',
  'src/pages/sign-in/routes/factory.ts: Accept, Cookie',
  'src/pages/sign-in/routes/session.ts: Done',
  'src/pages/sign-in/routes/session.ts: No user is signed in',
  'src/pages/sign-in/routes/session.ts: The session has ended',
  'src/pages/sign-in/routes/session.ts: The token is revoked',
  'src/pages/sign-in/routes/session.ts: You are signed out',
  'src/pages/sign-in/routes/session.ts: Bearer',
  'src/pages/sign-in/routes/sign-in.ts: The tokens, for a single-page application that reads them here',
  'src/pages/sign-in/routes/sign-in.ts: Signed in, or back to the application with `session`, `ticket`, `email_required` or `error`',
  'src/pages/sign-in/routes/sign-in.ts: Bearer',
  'src/pages/sign-in/routes/sign-in.ts: You are signed in',
])

/** The logo, the script, the programs for developers, the setup of AI clients, and the style sheets, which every room names `style.ts`. */
const otherTexts =
  /^src\/pages\/(?:properties\/programs|apps\/connect-guide|shared\/assets|live\/live-script|passkeys\/passkey-script|[a-z]+\/style)\.ts$/

type Catalog = Readonly<Record<string, Readonly<Record<string, unknown>>>>

const catalogs: Readonly<Record<'en' | 'de', Catalog>> = {
  en: english.messages(english.noun),
  de: german.messages(german.noun),
}

/** Returns `group.name kind` of every message. */
function kindsOf(catalog: Catalog): string[] {
  return Object.entries(catalog)
    .flatMap(([group, messages]) =>
      Object.entries(messages).map(([name, message]) => `${group}.${name} ${typeof message}`),
    )
    .toSorted()
}

/** Words that English and German share. */
const same: ReadonlySet<string> = new Set([
  'forms.text',
  'created.passphrase',
  'values.text',
  'values.null',
  'types.text',
  'types.array',
  'properties.name',
  'files.name',
  'subjects.tools',
  'subjects.prompts',
  'connections.app',
  'peer.details',
  'peer.app',
  'check.name',
  'viewAs.tools',
  'subscription.status',
  'apps.apps',
  'arrival.name',
  'arrival.passphrase',
  'operator.node',
  'devices.web',
  'devices.passphrase',
  'passkeys.title',
  'passkeys.name',
  'emailLink.code',
])

describe('the words of the pages', () => {
  it('are in the catalogs alone', () => {
    const paths = globSync('src/pages/**/*.ts', { cwd: root })
      .map((path) => path.replaceAll('\\', '/'))
      .filter((path) => !path.startsWith('src/pages/languages/') && !otherTexts.test(path))
      .toSorted()
    assert.deepEqual(
      paths
        .flatMap((path) => wordsIn(path, readFileSync(join(root, path), 'utf8')))
        .filter((words) => !allowed.has(words) && !forProgramsToo.has(words)),
      [],
    )
  })

  it('reach the script of the pages from the catalog', () => {
    const [, words = ''] = /^const words = (\{.*\})$/m.exec(liveScript) ?? []
    assert.ok(words.includes(catalogs.en['live']?.['signedOut'] as string))
    assert.deepEqual(wordsIn('troupe.js', liveScript.replace(words, '{}')), [
      'troupe.js: input, textarea, select',
      'troupe.js: a[href], button, input, textarea, select, summary, [tabindex]',
      'troupe.js: notice stale',
    ])
  })

  it('have the same messages of the same kinds in both languages', () => {
    assert.deepEqual(kindsOf(catalogs.de), kindsOf(catalogs.en))
  })

  it('are translated, besides words that both languages share', () => {
    const equal = Object.entries(catalogs.en).flatMap(([group, messages]) =>
      Object.entries(messages)
        .filter(([name, message]) => message === catalogs.de[group]?.[name])
        .map(([name]) => `${group}.${name}`),
    )
    assert.deepEqual(
      equal.filter((name) => !same.has(name)),
      [],
    )
  })
})
