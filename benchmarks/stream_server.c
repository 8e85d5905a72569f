/* A mock server that streams: COUNT events for each request, one every PERIOD_US, each as a write of its own.

   Owns: pace, and its own record of when each event was written, printed at the end: what a client's gaps are held
   against. Does not own: any check of a request. One thread, epoll, one core. Source: ours.
   cc -O2 -o stream_server stream_server.c; ./stream_server COUNT PERIOD_US -> prints its port, then at SIGTERM one JSON line. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTIONS_MAX = 4096, REQUEST_BYTES_MAX = 1 << 16, GAPS_MAX = 4000000 };

typedef struct {
    int left;             /* events still to be written; 0: waits for a request */
    int64_t due_ns, last_ns;
    int filled;
    char request[REQUEST_BYTES_MAX];
} Connection;

static Connection *connections[CONNECTIONS_MAX];
static int64_t *gaps_ns;
static long gap_count, event_count, late_writes;
static int count, open_now, open_max;
static int64_t period_ns;
static volatile sig_atomic_t stopped;

static const char HEAD[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
static const char EVENT[] =
    "data: {\"id\":\"chatcmpl-7f3a9c\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"mock\","
    "\"choices\":[{\"index\":0,\"delta\":{\"role\":null,\"content\":\" word\",\"reasoning_content\":null,"
    "\"tool_calls\":null},\"logprobs\":null,\"finish_reason\":null,\"matched_stop\":null}],\"usage\":null}\n\n";
static const char LAST[] =
    "data: {\"id\":\"chatcmpl-7f3a9c\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"mock\","
    "\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

static int64_t now_ns(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (int64_t)at.tv_sec * 1000000000 + at.tv_nsec;
}

static void stop(int number) { (void)number; stopped = 1; }

static void drop(int fd) {
    if (connections[fd]->left) open_now--;
    free(connections[fd]);
    connections[fd] = NULL;
    close(fd);
}

static void chunk(int fd, const char *prefix, const char *body, int is_last) {
    char text[2048];
    int size = snprintf(text, sizeof text, "%s%zx\r\n%s\r\n%s", prefix, strlen(body), body, is_last ? "0\r\n\r\n" : "");
    if (write(fd, text, size) != size) late_writes++;
}

/* A request is whole when its head and as many bytes as it announces are there. */
static void readable(int fd) {
    Connection *c = connections[fd];
    ssize_t got = read(fd, c->request + c->filled, REQUEST_BYTES_MAX - 1 - c->filled);
    if (got <= 0) { drop(fd); return; }
    c->filled += got;
    c->request[c->filled] = 0;
    char *end = strstr(c->request, "\r\n\r\n");
    if (!end) return;
    char *length = strcasestr(c->request, "content-length:");
    long body = length && length < end ? atol(length + 15) : 0;
    if (c->filled < (end - c->request) + 4 + body) return;
    c->filled = 0;
    c->left = count;
    if (++open_now > open_max) open_max = open_now;
    c->last_ns = 0;
    c->due_ns = now_ns() + period_ns;
    if (write(fd, HEAD, sizeof HEAD - 1) < 0) drop(fd);
}

static void due(int fd, int64_t now) {
    Connection *c = connections[fd];
    while (c->left && c->due_ns <= now) {
        c->left--;
        chunk(fd, "", EVENT, 0);
        int64_t at = now_ns();
        if (c->last_ns && gap_count < GAPS_MAX) gaps_ns[gap_count++] = at - c->last_ns;
        c->last_ns = at;
        c->due_ns += period_ns;
        event_count++;
        if (!c->left) { chunk(fd, "", LAST, 1); open_now--; }
    }
}

static int compare(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    if (argc != 3) { fprintf(stderr, "usage: stream_server COUNT PERIOD_US\n"); return 2; }
    count = atoi(argv[1]);
    period_ns = atoll(argv[2]) * 1000;
    gaps_ns = malloc(sizeof *gaps_ns * GAPS_MAX);
    signal(SIGTERM, stop);
    signal(SIGPIPE, SIG_IGN);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), poll = epoll_create1(0), yes = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 1024)) { perror("listen"); return 3; }
    getsockname(listener, (struct sockaddr *)&address, &size);
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener}, events[256];
    epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event);
    while (!stopped) {
        int64_t next = INT64_MAX, now = now_ns();
        for (int fd = 0; fd < CONNECTIONS_MAX; fd++)
            if (connections[fd] && connections[fd]->left && connections[fd]->due_ns < next) next = connections[fd]->due_ns;
        int64_t left = next == INT64_MAX ? 100000000 : next > now ? next - now : 0;
        struct timespec wait = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
        int ready = epoll_pwait2(poll, events, 256, &wait, NULL);
        for (int i = 0; i < ready; i++) {
            int fd = events[i].data.fd;
            if (fd != listener) { if (connections[fd]) readable(fd); continue; }
            int accepted = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
            if (accepted < 0) continue;
            if (accepted >= CONNECTIONS_MAX) { close(accepted); continue; }
            setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
            connections[accepted] = calloc(1, sizeof(Connection));
            event = (struct epoll_event){.events = EPOLLIN, .data.fd = accepted};
            epoll_ctl(poll, EPOLL_CTL_ADD, accepted, &event);
        }
        now = now_ns();
        for (int fd = 0; fd < CONNECTIONS_MAX; fd++)
            if (connections[fd] && connections[fd]->left) due(fd, now);
    }
    qsort(gaps_ns, gap_count, sizeof *gaps_ns, compare);
    double p50 = gap_count ? gaps_ns[gap_count / 2] / 1e6 : 0, p99 = gap_count ? gaps_ns[gap_count * 99 / 100] / 1e6 : 0;
    printf("{\"events\": %ld, \"gaps\": %ld, \"p50_ms\": %.3f, \"p99_ms\": %.3f, \"open_max\": %d, \"short_writes\": %ld}\n",
           event_count, gap_count, p50, p99, open_max, late_writes);
    return 0;
}
