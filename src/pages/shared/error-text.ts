/** The text of an error on a page, in the language of its reader. API clients receive the message of the error instead. */
import { catalogue, type ErrorCode, type ErrorDetail, type ActRefusal, ServiceError } from '../../errors.ts'
import { SignInRefusal } from '../../sign-in/refusal.ts'
import type { Messages, PageLanguage } from '../languages/language.ts'
import { visible } from './visible.ts'

/**
 * A refusal that pages explain in the language of their reader.
 *
 * @param message For API clients, in English.
 */
export function pageRefusal(
  code: ErrorCode,
  message: string,
  onPage: (messages: Messages) => string,
  detail: ErrorDetail = {},
): ServiceError {
  return new ServiceError(code, message, { ...detail, onPage })
}

/** The same error with a text for pages. */
export function explained(error: ServiceError, onPage: (messages: Messages) => string): ServiceError {
  return pageRefusal(error.code, error.message, onPage, error.detail)
}

/**
 * Messages that no page explains are English. In another language, the reader gets the general message for the code. A message may
 * quote a path or a value, which others chose.
 */
export function errorText(error: ServiceError, language: PageLanguage): string {
  return visible(textOf(error, language))
}

function textOf(error: ServiceError, { tag, messages }: PageLanguage): string {
  const onPage = error.detail.onPage as ((messages: Messages) => string) | undefined
  if (onPage !== undefined) return onPage(messages)
  if (error.detail.refusal !== undefined) return refusals[error.detail.refusal](messages)
  if (error instanceof SignInRefusal) return messages.signInRefusals[error.why]
  const isDetail = error.message !== catalogue[error.code].text
  return isDetail && !general.has(error.code) && isEnglish(tag) ? error.message : messages.errors[error.code]
}

const refusals: Readonly<Record<ActRefusal, (messages: Messages) => string>> = {
  app_disconnected: ({ apps }) => apps.notConnected,
  approval_ended: ({ peerErrors }) => peerErrors.approvalEnded,
  import_ended: ({ imports }) => imports.ended,
  key_gone: ({ apps }) => apps.keyGone,
  last_manager: ({ membership }) => membership.lastManager,
  move_ended: ({ moving }) => moving.ended,
  rights_changed: ({ peerErrors }) => peerErrors.rightsChanged,
  role_decides: ({ membership }) => membership.roleDecides,
  session_ended: ({ devices }) => devices.alreadySignedOut,
  trust_changed: ({ peerErrors }) => peerErrors.changed,
  trust_ended: ({ peerErrors }) => peerErrors.ended,
}

/** The general message says more to a reader than the message for API clients. */
const general: ReadonlySet<ErrorCode> = new Set(['forged_request'])

function isEnglish(tag: string): boolean {
  return /^en\b/i.test(tag)
}
