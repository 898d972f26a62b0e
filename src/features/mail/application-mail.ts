/** Checks the messages of applications. */
import type { MailMessage, MailOptions } from './handle-types.ts'
import { ServiceError } from '../../errors.ts'

const longestSubject = 200
const longestText = 100_000
const longestHtml = 500_000
const longestKey = 255
const members = new Set(['subject', 'text', 'html'])

/** @throws ServiceError `invalid_value` */
export function requireMessage(message: MailMessage, { key }: MailOptions): void {
  if (typeof message !== 'object' || message === null) throw refused('it must have a subject and a text')
  const unknown = Object.keys(message).find((name) => !members.has(name))
  if (unknown !== undefined) throw refused(`the member ${JSON.stringify(unknown)} does not exist`)
  const { subject, text, html } = message
  if (!isText(subject, longestSubject) || /\p{C}|\p{Zl}|\p{Zp}/u.test(subject) || subject.trim() === '')
    throw refused(`its subject must be one line of 1 to ${longestSubject} characters`)
  if (!isText(text, longestText)) throw refused(`its text must be a string of 1 to ${longestText} characters`)
  if (html !== undefined && !isText(html, longestHtml))
    throw refused(`its html must be a string of 1 to ${longestHtml} characters`)
  if (key !== undefined && !isText(key, longestKey))
    throw refused(`its key must be a string of 1 to ${longestKey} characters`)
}

function isText(value: unknown, longest: number): boolean {
  return typeof value === 'string' && value !== '' && value.length <= longest && value.isWellFormed()
}

function refused(why: string): ServiceError {
  return new ServiceError('invalid_value', `Cannot send the message: ${why}`)
}
