/** Turns the words of a message into its text and its HTML. The HTML loads nothing, and everything in it is escaped. */
import { html } from 'hono/html'
import type { PageLanguage } from '../../pages/languages/language.ts'
import type { MailContent } from './message.ts'

/** The words of a message in one language. */
export interface Words {
  readonly subject: string
  readonly lines: readonly string[]
  /** The text of the link. */
  readonly action: string
}

export interface Letter {
  readonly words: Words
  /** Null: the message has no link. */
  readonly url: string | null
  readonly footer: string
  /** The link that turns messages of this kind off. Null: they cannot be turned off. */
  readonly stop: { readonly text: string; readonly url: string } | null
}

export async function written(
  { words: { subject, lines, action }, url, footer, stop }: Letter,
  { tag, direction }: Pick<PageLanguage, 'tag' | 'direction'>,
): Promise<Omit<MailContent, 'to'>> {
  const link = url === null ? '' : html`\n<p><a href="${url}">${action}</a></p>\n<p>${url}</p>`
  const page = await html`<!doctype html>
<html lang="${tag}" dir="${direction}">
<head><meta charset="utf-8"><title>${subject}</title></head>
<body style="font-family: sans-serif; line-height: 1.5; max-width: 36em; margin: 0 auto; padding: 1em">
<h1 style="font-size: 1.25em">${subject}</h1>
${lines.map((line) => html`<p>${line}</p>\n`)}${link}
<p style="font-size: 0.8em">${footer}${stop === null ? '' : html` <a href="${stop.url}">${stop.text}</a>`}</p>
</body>
</html>
`
  const paragraphs = [
    ...lines,
    ...(url === null ? [] : [url]),
    `-- \n${footer}${stop === null ? '' : `\n${stop.text}: ${stop.url}`}`,
  ]
  const unsubscribe = stop === null ? {} : { unsubscribeUrl: stop.url }
  return { ...unsubscribe, subject: oneLine(subject), text: `${paragraphs.join('\n\n')}\n`, html: String(page) }
}

/** A subject is a header, in which a line break would begin another header. */
export function oneLine(subject: string): string {
  return subject.replaceAll(/[\p{C}\s]+/gu, ' ').trim()
}
