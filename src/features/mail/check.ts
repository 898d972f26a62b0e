/** Tries the configured SMTP server, for commands of the operator. */
import { randomId } from '../../secret/random.ts'
import { type LocalCheck, settingsOf } from '../feature.ts'
import type { HandOver } from './message.ts'
import { mailOptions } from './options.ts'
import { parseSender, publicHostOf, smtpServerOf } from './smtp-settings.ts'

/** The settings of the server and of the service. */
export interface SmtpCheck {
  readonly smtpUrl: string
  readonly mailFrom: string | null
  readonly baseUrl: string
}

/** Connects and signs in, and sends nothing. @returns where, and the reason of a failure or null. */
export async function tryServer({ smtpUrl, baseUrl }: Omit<SmtpCheck, 'mailFrom'>): Promise<{
  readonly place: string
  readonly problem: string | null
}> {
  const server = smtpServerOf(smtpUrl)
  const { greet } = await import('./smtp.ts')
  const problem = await greet({ server, host: publicHostOf(baseUrl) }).then(
    () => null,
    (error: unknown) => (error as Error).message,
  )
  return { place: `${server.host}:${server.port}`, problem }
}

/** Connects to the mail server. The service starts without the server, so a problem does not end the command. */
export const mailCheck: LocalCheck = {
  name: 'mail',
  state: async ({ baseUrl, ...facts }) => {
    const { smtpUrl } = settingsOf(facts, mailOptions)
    if (smtpUrl === null) return null
    const { place, problem } = await tryServer({ smtpUrl, baseUrl })
    return `${place}: ${problem ?? 'answers'}`
  },
}

/** Sends a message now, without the queue. */
export async function sendTestMail({ smtpUrl, mailFrom, baseUrl }: SmtpCheck, to: string): Promise<HandOver> {
  const host = publicHostOf(baseUrl)
  const from = parseSender(mailFrom ?? '')
  if (from === null) throw new Error('Cannot send a message without a sender')
  const { sendBySmtp } = await import('./smtp.ts')
  const subject = `Test message of ${host}`
  const text = `${baseUrl} can send mail: you requested this message with troupe mail test.`
  return sendBySmtp(
    { server: smtpServerOf(smtpUrl), host },
    {
      from,
      to,
      subject,
      text,
      html: null,
      kind: 'test',
      messageId: `<${randomId()}@${host}>`,
      headers: {},
      createdAt: Date.now(),
    },
    () => Promise.resolve(),
  )
}
