/* Measures from inside what cannot be seen from outside, and prints nanoseconds.
 *   calls N             system calls that do nothing
 *   opens N PATH        opening and closing a file
 *   bulk PORT BYTES     reading from a server as fast as it comes
 *   first PORT N        the median time until the first byte of a connection
 * With the variable HTTP_PROXY, connections are tunnels through that proxy. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static char buffer[256 * 1024];

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void tunnel(int connection, int port) {
    int length = snprintf(buffer, sizeof buffer, "CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n", port, port);
    if (write(connection, buffer, length) != length) fail("asking the proxy");
    length = 0;
    do {
        int count = read(connection, buffer + length, 4096);
        if (count <= 0) fail("the proxy's answer");
        length += count;
        buffer[length] = 0;
    } while (!strstr(buffer, "\r\n\r\n"));
    if (!strstr(buffer, " 200 ")) {
        fputs(buffer, stderr);
        exit(1);
    }
}

static int dial(int port) {
    const char *proxy = getenv("HTTP_PROXY");
    int first = proxy ? atoi(strrchr(proxy, ':') + 1) : port, yes = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(first), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int connection = socket(AF_INET, SOCK_STREAM, 0);
    if (connection < 0 || connect(connection, (struct sockaddr *)&address, sizeof address)) fail("connecting");
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (proxy) tunnel(connection, port);
    return connection;
}

static int compare(const void *one, const void *other) {
    long long a = *(const long long *)one, b = *(const long long *)other;
    return (a > b) - (a < b);
}

static long long first(int port, long count) {
    long long *times = calloc(count, sizeof *times);
    for (long i = 0; i < count; i++) {
        long long start = now();
        int connection = dial(port);
        if (write(connection, "\1", 1) != 1 || read(connection, buffer, 1) != 1) fail("the first byte");
        times[i] = now() - start;
        close(connection);
    }
    qsort(times, count, sizeof *times, compare);
    return times[count / 2];
}

static void bulk(int port, long bytes) {
    int connection = dial(port);
    if (write(connection, "\2", 1) != 1) fail("asking");
    while (bytes > 0) {
        ssize_t count = read(connection, buffer, sizeof buffer);
        if (count <= 0) fail("reading");
        bytes -= count;
    }
}

int main(int count, char **words) {
    if (count < 3) return 2;
    long number = atol(words[2]);
    long long start = now();
    if (!strcmp(words[1], "calls")) {
        for (long i = 0; i < number; i++) syscall(SYS_getppid);
    } else if (!strcmp(words[1], "opens")) {
        for (long i = 0; i < number; i++) {
            int file = open(words[3], O_RDONLY);
            if (file < 0) fail(words[3]);
            close(file);
        }
    } else if (!strcmp(words[1], "bulk")) {
        bulk(number, atol(words[3]));
    } else if (!strcmp(words[1], "first")) {
        printf("%lld\n", first(number, atol(words[3])));
        return 0;
    }
    printf("%lld\n", now() - start);
    return 0;
}
