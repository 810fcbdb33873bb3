package fairground;

import io.netty.channel.ChannelOption;
import io.r2dbc.pool.ConnectionPool;
import io.r2dbc.postgresql.PostgresqlConnectionFactory;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.reactor.netty.NettyServerCustomizer;
import org.springframework.context.annotation.Bean;
import reactor.netty.ReactorNetty;
import reactor.netty.http.server.HttpServer;

/** Starts Spring Boot, with WORKERS event loops. */
@SpringBootApplication
public class Server {
    private static final int BACKLOG = 4096;

    public static void main(String[] arguments) {
        if (arguments.length == 1 && arguments[0].equals("--version")) {
            System.out.println(versions());
            return;
        }
        System.setProperty(ReactorNetty.IO_WORKER_COUNT, System.getenv("WORKERS"));
        SpringApplication.run(Server.class, arguments);
    }

    @Bean
    NettyServerCustomizer backlog() {
        return server -> server.option(ChannelOption.SO_BACKLOG, BACKLOG);
    }

    private static String versions() {
        return "java %s, spring-boot %s, reactor-netty %s, r2dbc-postgresql %s, r2dbc-pool %s".formatted(
            Runtime.version(),
            SpringApplication.class.getPackage().getImplementationVersion(),
            HttpServer.class.getPackage().getImplementationVersion(),
            PostgresqlConnectionFactory.class.getPackage().getImplementationVersion(),
            ConnectionPool.class.getPackage().getImplementationVersion());
    }
}
